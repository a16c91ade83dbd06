"""`/delegation_token/...`: tokens (without their secret) and the news about them."""

from dataclasses import dataclass

from kafkalike.zk.znodes.json_data import decode_text, encode_json, reading
from kafkalike.zk.znodes.sanitizer import desanitize, sanitize


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenInformation:
    """A delegation token; principals are written `User:alice`."""

    token_id: str
    owner: str
    renewers: tuple[str, ...]
    issue_timestamp_ms: int
    expiry_timestamp_ms: int
    max_timestamp_ms: int


class DelegationTokenZNode:
    """`/delegation_token/tokens/<id>`: one token."""

    ROOT = "/delegation_token/tokens"

    @staticmethod
    def path(token_id: str) -> str:
        """Where the token is."""
        return f"{DelegationTokenZNode.ROOT}/{token_id}"

    @staticmethod
    def encode(token: TokenInformation) -> bytes:
        """Write the token; principals are sanitized."""
        return encode_json(
            {
                "issueTimestamp": token.issue_timestamp_ms,
                "renewers": [sanitize(renewer) for renewer in token.renewers],
                "tokenId": token.token_id,
                "owner": sanitize(token.owner),
                "expiryTimestamp": token.expiry_timestamp_ms,
                "maxTimestamp": token.max_timestamp_ms,
                "version": 1,
            }
        )

    @staticmethod
    def decode(data: bytes | None) -> TokenInformation:
        """Read the token."""
        with reading(data, DelegationTokenZNode.ROOT) as value:
            if value["version"] != 1:
                raise ValueError("unsupported version")
            return TokenInformation(
                token_id=value["tokenId"],
                owner=desanitize(value["owner"]),
                renewers=tuple(map(desanitize, value["renewers"])),
                issue_timestamp_ms=int(value["issueTimestamp"]),
                expiry_timestamp_ms=int(value["expiryTimestamp"]),
                max_timestamp_ms=int(value["maxTimestamp"]),
            )


class DelegationTokenChangeZNode:
    """`/delegation_token/token_changes/token_change_<n>`: a token changed; plain text."""

    ROOT = "/delegation_token/token_changes"
    PREFIX = "token_change_"
    CREATE_PATH = f"{ROOT}/{PREFIX}"

    @staticmethod
    def encode(token_id: str) -> bytes:
        """Write which token."""
        return token_id.encode()

    @staticmethod
    def decode(data: bytes | None) -> str:
        """Read which token."""
        return decode_text(data, DelegationTokenChangeZNode.ROOT)
