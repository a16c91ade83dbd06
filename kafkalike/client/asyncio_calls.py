"""The bridge to asyncio: the clients run in the library's reactor thread, the program in its loop.

The only module of the package that says `asyncio` besides `aio`. (Twisted can run on an asyncio
loop, but only as the program's one reactor, from its first line on.)
"""

import asyncio  # noqa: TID251 (this module is the bridge, see docs/adr)
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from twisted.internet.defer import Deferred

from kafkalike.client.threads import ReactorThread

P = ParamSpec("P")
T = TypeVar("T")


class AsyncioFace:
    """A client whose core lives in the library's reactor thread."""

    _thread: ReactorThread
    _inner: Any  # Any: the Twisted client of the same name


async def in_reactor(thread: ReactorThread, work: Coroutine[Any, Any, T]) -> T:
    """Wait in asyncio for a coroutine that runs in the reactor; cancelling reaches it."""
    return await asyncio.wrap_future(thread.submit(work))


def awaited(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Make a coroutine method of the reactor one of asyncio."""

    @wraps(method)
    async def call(self: AsyncioFace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await in_reactor(self._thread, method(self._inner, *args, **kwargs))

    return call


def run_in_loop(thread: ReactorThread) -> Callable[..., Awaitable[Any]]:
    """Return what calls a function of the program in its loop, for a coroutine in the reactor."""
    loop = asyncio.get_running_loop()

    async def run(call: Callable[..., Any], *args: Any) -> Any:
        done: Deferred[Any] = Deferred()

        async def in_loop() -> None:
            try:
                result = call(*args)
                if inspect.isawaitable(result):
                    result = await result
            except Exception as error:  # noqa: BLE001 (the coroutine in the reactor gets it)
                thread.post(done.errback, error)
            else:
                thread.post(done.callback, result)

        tasks: list[Any] = []  # A task that nobody holds may vanish.
        loop.call_soon_threadsafe(lambda: tasks.append(loop.create_task(in_loop())))
        return await done

    return run


def loop_future(told: Callable[..., Any]) -> "asyncio.Future[Any]":
    """Return a future of the running loop that is settled by who calls back from another thread.

    `told` is given two functions: one for the result, one for the error.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    told(
        lambda result: loop.call_soon_threadsafe(settle, result, None),
        lambda error: loop.call_soon_threadsafe(settle, None, error),
    )
    return future
