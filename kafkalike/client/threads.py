"""The client library's door to threads: nobody else in it says `threading` or `callFromThread`.

The blocking clients share one reactor, which runs in a background thread of the library (a private
one: Twisted's global reactor is left to the program). A call from another thread becomes a
coroutine there, and the caller waits for its outcome; what the coroutine wants to run in the
caller's thread (rebalance listeners, which call the consumer again) it hands back meanwhile.
"""

import os
import queue
import threading  # noqa: TID251 (this module is the door, see docs/adr)
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from twisted.internet import epollreactor
from twisted.internet.defer import Deferred

T = TypeVar("T")
Lock = threading.Lock

_STOP_TIMEOUT_S: Final = 10.0
_WAITS_FOR_ITSELF: Final = (
    "a blocking call from a callback of the client would wait for itself: make it in another thread"
)


class Latch:
    """Opened once; threads wait for that."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def open(self) -> None:
        """Let all who wait go on."""
        self._event.set()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until it is open; False if that took too long."""
        if _Shared.thread is not None and _Shared.thread.is_current:
            raise RuntimeError(_WAITS_FOR_ITSELF)
        return self._event.wait(timeout_s)


class Caller:
    """A thread that waits for a coroutine, and runs what the coroutine asks it to meanwhile."""

    def __init__(self, reactor: Any) -> None:  # Any: no one reactor interface has it all
        self._reactor = reactor
        self._jobs: queue.SimpleQueue[Callable[[], bool]] = queue.SimpleQueue()
        self._outcome: Any = None
        self._error: BaseException | None = None

    def wait(self) -> Any:
        """Run jobs until the coroutine has ended; give its outcome or raise its error."""
        while not self._jobs.get()():
            pass
        if self._error is not None:
            raise self._error
        return self._outcome

    async def follow(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run the coroutine (in the reactor) and tell its end to the thread that waits."""
        try:
            self._outcome = await coroutine
        except BaseException as error:  # noqa: BLE001 (it is raised in the thread that waits)
            self._error = error
        self._jobs.put(lambda: True)

    async def run_in_caller(self, call: Callable[..., T], *args: Any) -> T:
        """Run a function in the thread that waits, and wait (in the reactor) for its result."""
        done: Deferred[T] = Deferred()

        def job() -> bool:
            try:
                result = call(*args)
            except Exception as error:  # noqa: BLE001 (the coroutine gets it)
                self._reactor.callFromThread(done.errback, error)
            else:
                self._reactor.callFromThread(done.callback, result)
            return False

        self._jobs.put(job)
        return await done


class ReactorThread:
    """A private reactor in a daemon thread, started at the first use and then kept."""

    def __init__(self) -> None:
        make_reactor: Any = epollreactor.EPollReactor  # Any: Twisted has no type for it
        self.reactor: Any = make_reactor()
        # The global reactor, if the program runs one, stays the one that Twisted knows of.
        self.reactor._registerAsIOThread = False
        self._thread = threading.Thread(target=self._run, name="kafkalike-client", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.reactor.run(installSignalHandlers=False)

    @property
    def is_current(self) -> bool:
        """Whether the caller is the reactor's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def post(self, call: Callable[..., Any], *args: Any) -> None:
        """Call something in the reactor soon, without waiting for it."""
        self.reactor.callFromThread(call, *args)

    def run(self, work: Callable[[Caller], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine in the reactor and wait for it; whoever interrupts the wait ends it."""
        if self.is_current:
            raise RuntimeError(_WAITS_FOR_ITSELF)
        caller = Caller(self.reactor)
        running: list[Deferred[None]] = []
        self.post(lambda: running.append(Deferred.fromCoroutine(caller.follow(work(caller)))))
        try:
            return caller.wait()  # type: ignore[no-any-return]  # what the coroutine returned
        except KeyboardInterrupt:
            self.post(lambda: running[0].cancel())
            raise

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Run a coroutine in the reactor; cancelling the future cancels it."""
        future: Future[T] = Future()

        async def follow() -> None:
            try:
                outcome = await work
            except BaseException as error:  # noqa: BLE001 (whoever has the future gets it)
                if not future.cancelled():
                    future.set_exception(error)
            else:
                if not future.cancelled():
                    future.set_result(outcome)

        def start() -> None:
            running = Deferred.fromCoroutine(follow())
            future.add_done_callback(
                lambda done: self.post(running.cancel) if done.cancelled() else None
            )

        self.post(start)
        return future

    def stop(self) -> None:
        """End the thread; only for programs that count their threads."""
        self.post(self.reactor.stop)
        self._thread.join(_STOP_TIMEOUT_S)


class _Shared:
    """The one reactor thread of this process; a forked child has none of it and makes its own."""

    thread: ReactorThread | None = None
    lock = Lock()

    @classmethod
    def forget(cls) -> None:
        cls.thread = None
        cls.lock = Lock()


os.register_at_fork(after_in_child=_Shared.forget)


def reactor_thread() -> ReactorThread:
    """Return the reactor thread that all blocking clients of the process share."""
    with _Shared.lock:
        if _Shared.thread is None:
            _Shared.thread = ReactorThread()
        return _Shared.thread
