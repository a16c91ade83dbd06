"""How a method that runs in the reactor becomes one that a thread calls and waits for."""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from kafkalike.client.threads import ReactorThread

P = ParamSpec("P")
T = TypeVar("T")


class BlockingFace:
    """A client whose core lives in the library's reactor thread."""

    _thread: ReactorThread
    _inner: Any  # Any: the async client of the same name


def waiting(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """Make a coroutine method one that waits for its result."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.run(lambda _: method(self._inner, *args, **kwargs))

    return call


def calling(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Make a plain method one that is called in the reactor's thread."""

    @wraps(method)
    def call(self: BlockingFace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def run() -> T:
            return method(self._inner, *args, **kwargs)

        return self._thread.run(lambda _: run())

    return call
