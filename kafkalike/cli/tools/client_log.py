"""What a client warns of, on standard error in the shape of Kafka's log4j."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, cast

from twisted.logger import ILogObserver, LogLevel, formatEvent, globalLogPublisher

from kafkalike.cli.tools.support.log4j import log_line

_NAMESPACE: Final = "kafkalike.client"
_LOGGER: Final = "org.apache.kafka.clients.NetworkClient"


@contextmanager
def warnings_shown(
    kind: str, client_id: str, is_wanted: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Show warnings of the client library while the block runs: `[Producer clientId=…] …`.

    Each is shown once: a broker that is away is tried again every second, for a minute.
    """
    shown: set[str] = set()

    def observe(event: dict[str, Any]) -> None:
        level = event.get("log_level", LogLevel.debug)
        if (
            event.get("log_namespace", "").startswith(_NAMESPACE)
            and level >= LogLevel.warn
            and is_wanted()
        ):
            text = f"[{kind} clientId={client_id}] {formatEvent(event)}"
            if text not in shown:
                shown.add(text)
                sys.stderr.write(f"{log_line('WARN', text, _LOGGER)}\n")

    observer = cast(ILogObserver, observe)  # a function is one, which zope knows and mypy does not
    globalLogPublisher.addObserver(observer)
    try:
        yield
    finally:
        globalLogPublisher.removeObserver(observer)
