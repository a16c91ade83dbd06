"""The way to the coordinator of a group, found anew whenever it has moved."""

from typing import Any, Final

from kafkalike.client.kafka_client import GROUP, KafkaClient
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    NetworkError,
    RequestTimedOutError,
)
from kafkalike.protocol.schema import Message

MOVED: Final = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class CoordinatorLink:
    """Sends requests to the coordinator on a connection of its own."""

    def __init__(self, client: KafkaClient, group_id: str) -> None:
        self._client = client
        self._group_id = group_id
        self._node_id: int | None = None

    async def send(self, request: Message, *, timeout_ms: int | None = None) -> Any:
        """Send a request; whoever gets an error of `MOVED` in the answer must call `lost`."""
        if self._node_id is None:
            node = await self._client.find_coordinator(self._group_id, GROUP)
            self._node_id = node.id
        try:
            return await self._client.send(
                self._node_id, request, timeout_ms=timeout_ms, purpose="coordinator"
            )
        except (NetworkError, RequestTimedOutError):
            self.lost()
            raise

    def lost(self) -> None:
        """Look for the coordinator again before the next request."""
        self._node_id = None

    def note(self, error: KafkaError) -> KafkaError:
        """Take note of an error from an answer, and give it back to be raised."""
        if error.code in MOVED:
            self.lost()
        return error
