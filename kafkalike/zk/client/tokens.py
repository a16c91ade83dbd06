"""`/delegation_token/...`: delegation tokens, and the word that one of them changed."""

from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import NoNodeError
from kafkalike.zk.ops import SetDataOp
from kafkalike.zk.znodes import DelegationTokenChangeZNode, DelegationTokenZNode, TokenInformation


class TokensClient(TreeClient):
    """What the delegation token manager keeps in ZooKeeper."""

    async def create_delegation_token_paths(self) -> None:
        """Make sure of the parents, in Kafka's order."""
        await self.make_sure_persistent_path_exists(DelegationTokenChangeZNode.ROOT)
        await self.make_sure_persistent_path_exists(DelegationTokenZNode.ROOT)

    async def get_delegation_token_info(self, token_id: str) -> TokenInformation | None:
        """Read a token."""
        found = await self._get(DelegationTokenZNode.path(token_id))
        return DelegationTokenZNode.decode(found[0]) if found else None

    async def get_delegation_token_ids(self) -> list[str]:
        """List the ids of all tokens."""
        return await self.get_children(DelegationTokenZNode.ROOT)

    async def set_or_create_delegation_token(self, token: TokenInformation) -> None:
        """Write a token."""
        path = DelegationTokenZNode.path(token.token_id)
        data = DelegationTokenZNode.encode(token)
        try:
            await self._write(SetDataOp(path, data))
        except NoNodeError:
            await self._write(self._create_op(path, data))

    async def delete_delegation_token(self, token_id: str) -> bool:
        """Delete a token; False if there is none."""
        return await self.delete_recursive(DelegationTokenZNode.path(token_id))

    async def create_token_change_notification(self, token_id: str) -> None:
        """Tell all brokers to read a token again."""
        await self.create_sequential_persistent_path(
            DelegationTokenChangeZNode.CREATE_PATH, DelegationTokenChangeZNode.encode(token_id)
        )
