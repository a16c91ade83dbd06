"""The only door to the thread pool: fsync, recovery, cleaning, deletion, key stretching."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from twisted.internet.threads import deferToThreadPool

T = TypeVar("T")


class RunBlocking(Protocol):
    """Run a function that blocks, away from the reactor; tests pass one that runs it at once."""

    def __call__(self, call: Callable[..., T], *args: Any) -> Awaitable[T]:
        """Run it and give its result."""


def run_blocking_on(reactor: Any) -> RunBlocking:  # Any: no one reactor interface has it all
    """Make the door to this reactor's thread pool."""

    def run_blocking(call: Callable[..., T], *args: Any) -> Awaitable[T]:
        return deferToThreadPool(reactor, reactor.getThreadPool(), call, *args)

    return run_blocking
