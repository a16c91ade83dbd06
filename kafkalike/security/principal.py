"""Who a connection speaks for (Kafka's KafkaPrincipal)."""

from dataclasses import dataclass, field
from typing import Final, Self

USER_TYPE: Final = "User"


@dataclass(frozen=True, slots=True)
class KafkaPrincipal:
    """A type and a name, written `User:alice`; how it was proved makes no other principal of it."""

    principal_type: str
    name: str
    is_token_authenticated: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return f"{self.principal_type}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `User:alice`; raise ValueError on anything else."""
        principal_type, colon, name = text.partition(":")
        if not colon or not principal_type:
            raise ValueError(f"{text!r} is no principal: expected type:name, as in User:alice")
        return cls(principal_type, name)


ANONYMOUS: Final = KafkaPrincipal(USER_TYPE, "ANONYMOUS")
