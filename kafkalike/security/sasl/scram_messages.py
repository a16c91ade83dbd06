"""The four messages of SCRAM, read strictly and written as Kafka writes them (`ScramMessages`)."""

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafkalike.security.sasl.mechanism import SaslError

TOKEN_AUTH: Final = "tokenauth"
NO_CHANNEL_BINDING: Final = b"n,,"

_SASL_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_BASE64: Final = r"(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_RESERVED: Final = rf"(?:m={_VALUE},)?"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_CLIENT_FIRST: Final = re.compile(
    rf"n,(?:a=({_SASL_NAME}))?,({_RESERVED}n=({_SASL_NAME}),r=({_PRINTABLE})({_EXTENSIONS}))"
)
_SERVER_FIRST: Final = re.compile(
    rf"{_RESERVED}r=({_PRINTABLE}),s=({_BASE64}),i=([0-9]+){_EXTENSIONS}"
)
_CLIENT_FINAL: Final = re.compile(rf"(c=({_BASE64}),r=({_PRINTABLE}){_EXTENSIONS}),p=({_BASE64})")
_SERVER_FINAL: Final = re.compile(rf"(?:e=([^=,]+)|v=({_BASE64})){_EXTENSIONS}")


class ClientFirst(NamedTuple):
    """Who the client wants to be; `bare` is what both sides sign."""

    authorization_id: str
    sasl_name: str
    nonce: str
    extensions: Mapping[str, str]
    bare: str

    @property
    def is_token(self) -> bool:
        """Whether the name is the id of a delegation token."""
        return self.extensions.get(TOKEN_AUTH, "").lower() == "true"


class ServerFirst(NamedTuple):
    """How the password was stretched."""

    nonce: str
    salt: bytes
    iterations: int
    text: str


class ClientFinal(NamedTuple):
    """The proof."""

    nonce: str
    proof: bytes
    without_proof: str
    channel_binding: bytes


def client_first(sasl_name: str, nonce: str, extensions: Mapping[str, str]) -> ClientFirst:
    """Make a client's first message."""
    bare = ",".join([f"n={sasl_name}", f"r={nonce}", *(f"{k}={v}" for k, v in extensions.items())])
    return ClientFirst("", sasl_name, nonce, extensions, bare)


def parse_client_first(message: bytes) -> ClientFirst:
    """Read a client's first message."""
    match = _matched(_CLIENT_FIRST, message, "client first")
    authorization_id, bare, sasl_name, nonce, extensions = match.groups()
    pairs = dict(part.partition("=")[::2] for part in extensions.split(",") if part)
    return ClientFirst(authorization_id or "", sasl_name, nonce, pairs, bare)


def server_first(nonce: str, salt: bytes, iterations: int) -> ServerFirst:
    """Make a server's first message."""
    text = f"r={nonce},s={b64encode(salt).decode()},i={iterations}"
    return ServerFirst(nonce, salt, iterations, text)


def parse_server_first(message: bytes) -> ServerFirst:
    """Read a server's first message."""
    match = _matched(_SERVER_FIRST, message, "server first")
    return ServerFirst(match[1], b64decode(match[2]), int(match[3]), match[0])


def client_final_without_proof(nonce: str) -> str:
    """Make what the proof of a client's last message is about."""
    return f"c={b64encode(NO_CHANNEL_BINDING).decode()},r={nonce}"


def parse_client_final(message: bytes) -> ClientFinal:
    """Read a client's last message."""
    match = _matched(_CLIENT_FINAL, message, "client final")
    return ClientFinal(match[3], b64decode(match[4]), match[1], b64decode(match[2]))


def parse_server_final(message: bytes) -> bytes:
    """Read a server's last message: its signature."""
    match = _matched(_SERVER_FINAL, message, "server final")
    if match[1] is not None:
        raise SaslError(f"the server says: {match[1]}")
    return b64decode(match[2])


def auth_message(bare: str, server_first_text: str, without_proof: str) -> bytes:
    """Put together what both sides sign."""
    return f"{bare},{server_first_text},{without_proof}".encode()


def _matched(pattern: re.Pattern[str], message: bytes, which: str) -> re.Match[str]:
    match = pattern.fullmatch(message.decode(errors="replace"))
    if match is None:
        raise SaslError(f"Invalid SCRAM {which} message format")
    return match
