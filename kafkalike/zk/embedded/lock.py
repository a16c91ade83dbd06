"""The lock of an ensemble: a JAAS file with the password that servers and clients share.

One file has both sections, `Server` for the servers and `Client` for brokers and tools; who can
read it has the key.
"""

import os
from pathlib import Path
from secrets import token_urlsafe
from typing import Final

JAAS_FILE: Final = "jaas.conf"
USER: Final = "kafka"
_MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"


def write_jaas_file(directory: Path) -> None:
    """Write a file with a new password, for the owner's eyes only; one that is there stays."""
    directory.mkdir(parents=True, exist_ok=True)
    password = token_urlsafe(24)
    try:
        descriptor = os.open(directory / JAAS_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w") as file:
        file.write(
            f'Server {{\n    {_MODULE} required\n    user_{USER}="{password}";\n}};\n'
            f"Client {{\n    {_MODULE} required\n"
            f'    username="{USER}" password="{password}";\n}};\n'
        )
