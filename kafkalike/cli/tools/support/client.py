"""From the options of a tool to a client: `--bootstrap-server` and `--command-config`.

The client, and with it Twisted, is imported when it is used: help must be there at once.
"""

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.cli.tools.support.options import Option, Parsed

if TYPE_CHECKING:
    from kafkalike.client.admin.admin_client import Admin

T = TypeVar("T")

_CLIENT_ID: Final = "adminclient-1"

BOOTSTRAP_SERVER: Final = Option(
    "bootstrap-server",
    "REQUIRED: The brokers to begin with: host:port,host:port.",
    "server to connect to",
)
COMMAND_CONFIG: Final = Option(
    "command-config",
    "A properties file with settings of the client.",
    "command config property file",
)


def client_settings(
    parsed: Parsed,
    *,
    bootstrap: str = "bootstrap-server",
    config: str = "command-config",
) -> dict[str, Any]:
    """Return the settings of a client as the options have them, by Kafka's names with dots."""
    settings: dict[str, Any] = {}
    path = parsed.value(config) if config else None
    if path is not None:
        settings |= read_settings(Path(path))
    settings["bootstrap.servers"] = parsed.value(bootstrap)
    return settings


def read_settings_option(parsed: Parsed, name: str) -> dict[str, Any]:
    """Read the properties file that an option names, if it was given."""
    return dict(read_settings(Path(parsed.value(name)))) if parsed.has(name) else {}


def read_settings(path: Path) -> dict[str, str]:
    """Read a properties file with settings of a client."""
    from kafkalike.config.errors import ConfigError
    from kafkalike.config.sources import read_properties

    try:
        return read_properties(path)
    except ConfigError:
        raise JavaError("java.nio.file.NoSuchFileException", f"{path} (cannot be read)") from None


def with_admin(settings: dict[str, Any], work: "Callable[[Admin], Coroutine[Any, Any, T]]") -> T:
    """Run a coroutine with an admin client that lives as long, and return its result."""
    from kafkalike.cli.tools.client_log import warnings_shown
    from kafkalike.client.admin.admin_client import Admin
    from kafkalike.client.config import ClientConfig, make_config
    from kafkalike.client.threads import reactor_thread
    from kafkalike.protocol.errors import NetworkError, RequestTimedOutError

    config = make_config(ClientConfig, known_settings(ClientConfig, settings))
    thread = reactor_thread()

    async def run() -> T:
        admin = Admin(thread.reactor, config)
        try:
            with warnings_shown("AdminClient", _CLIENT_ID, lambda: not is_known(admin)):
                return await work(admin)
        except (NetworkError, RequestTimedOutError) as error:
            if is_known(admin):
                raise
            raise RequestTimedOutError(_nobody_there(settings["bootstrap.servers"])) from error
        finally:
            await admin.close()

    def is_known(admin: Admin) -> bool:
        return bool(admin.client.metadata.snapshot.brokers)

    return thread.run(lambda _: run())


def _nobody_there(addresses: str) -> str:
    return (
        f"Timed out waiting for a node assignment: no broker answers at {addresses}. Is one "
        "running there, and does the client log in as it wants (--command-config)? Start one "
        "with kafka-server-start or `kafkalike cluster up`, or name others with "
        "--bootstrap-server."
    )


def known_settings(config_class: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Leave out what the client does not know, with a warning, as Java's clients do."""
    from dataclasses import fields

    from kafkalike.client.config import WITHOUT_EFFECT

    known = {field.name for field in fields(config_class)} | WITHOUT_EFFECT
    for key in settings:
        if key.replace(".", "_") not in known:
            sys.stderr.write(
                f"WARN The configuration '{key}' was supplied but isn't a known config.\n"
            )
    return {key: value for key, value in settings.items() if key.replace(".", "_") in known}


def client_arguments(config_class: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as the arguments of a client, without those that it does not know."""
    known = known_settings(config_class, settings)
    return {name.replace(".", "_"): value for name, value in known.items()}
