"""Start in order, stop in reverse."""

from collections.abc import Awaitable, Callable

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

log = Logger()


class Lifecycle:
    """What has been started and how to stop it; stopping goes on when one part fails."""

    def __init__(self) -> None:
        self._stops: list[tuple[str, Callable[[], Awaitable[object] | None]]] = []

    def on_stop(self, what: str, stop: Callable[[], Awaitable[object] | None]) -> None:
        """Remember how to stop a part that has just been started."""
        self._stops.append((what, stop))

    async def stop(self) -> None:
        """Stop every part, the last one first."""
        while self._stops:
            what, stop = self._stops.pop()
            try:
                stopped = stop()
                if stopped is not None:
                    await stopped
            except CancelledError:
                raise
            except Exception:  # noqa: BLE001 (the other parts must still be stopped)
                log.failure("stopping {what} failed", what=what)
