"""A broker's ZooKeeper session, kept beside its logs, so that others can end it after a crash.

The supervisor ends it when the broker dies without goodbye, a restarted broker when it finds it.
Who can read the file can end the broker's session: it is for the owner's eyes only. The standard
library is all that is imported here: the supervisor is small.
"""

import json
import os
from pathlib import Path
from typing import Final, NamedTuple

SESSION_FILE: Final = "zookeeper-session"


class KeptSession(NamedTuple):
    """A session, where it is known, for how long it lives in silence, and the process that has it.

    The password is not for the eyes, so `str` leaves it out.
    """

    session_id: int
    password: bytes
    connect: str
    timeout_ms: int
    pid: int
    is_secured: bool = False
    """By TLS: then the plain words of `end_session` are not heard."""

    def __str__(self) -> str:
        return f"session 0x{self.session_id:x}"


def write_session(directory: Path, session: KeptSession) -> None:
    """Keep a session instead of the one before; OSError if the disk refuses."""
    values = {**session._asdict(), "password": session.password.hex()}
    temporary = directory / f"{SESSION_FILE}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(values, file)
    temporary.replace(directory / SESSION_FILE)


def read_session(directory: Path) -> KeptSession | None:
    """Return the session of the last run if it did not end well."""
    try:
        values = json.loads((directory / SESSION_FILE).read_text())
        return KeptSession(
            session_id=int(values["session_id"]),
            password=bytes.fromhex(values["password"]),
            connect=str(values["connect"]),
            timeout_ms=int(values["timeout_ms"]),
            pid=int(values["pid"]),
            is_secured=bool(values.get("is_secured")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none, or half of one: then the session has to time out


def forget_session(directory: Path) -> None:
    """The session was closed: nothing is left to end."""
    (directory / SESSION_FILE).unlink(missing_ok=True)
