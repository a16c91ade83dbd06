"""The library's reactor in its background thread."""

import os
import threading
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from kafkalike.client.threads import Caller, Latch, ReactorThread, reactor_thread


def test_all_clients_share_one_thread() -> None:
    assert reactor_thread() is reactor_thread()


def test_coroutine_runs_in_the_reactors_thread_and_its_result_comes_back() -> None:
    thread = reactor_thread()

    async def work() -> str:
        return threading.current_thread().name

    assert thread.run(lambda _: work()) == "kafkalike-client"


def test_error_of_the_coroutine_is_raised_in_the_caller() -> None:
    async def work() -> None:
        raise LookupError("nothing here")

    with pytest.raises(LookupError, match="nothing here"):
        reactor_thread().run(lambda _: work())


def test_coroutine_can_call_back_into_the_thread_that_waits() -> None:
    """What a rebalance listener needs: it calls the consumer again and does not wait for itself."""
    thread = reactor_thread()

    async def inner() -> int:
        return 20

    def listener() -> tuple[str, int]:
        return threading.current_thread().name, thread.run(lambda _: inner()) + 1

    async def work(caller: Caller) -> Any:
        return await caller.run_in_caller(listener)

    assert thread.run(work) == (threading.current_thread().name, 21)


def test_error_of_a_listener_reaches_the_coroutine() -> None:
    def listener() -> None:
        raise LookupError("in the listener")

    async def work(caller: Caller) -> str:
        try:
            await caller.run_in_caller(listener)
        except LookupError as error:
            return str(error)
        return "no error"

    assert reactor_thread().run(work) == "in the listener"


def test_blocking_call_in_the_reactors_own_thread_is_refused() -> None:
    thread = reactor_thread()

    async def inner() -> None:
        """Never reached."""

    async def work() -> None:
        thread.run(lambda _: inner())

    with pytest.raises(RuntimeError, match="wait for itself"):
        thread.run(lambda _: work())


def test_cancelling_a_submitted_coroutine_reaches_it() -> None:
    thread, ended = reactor_thread(), Latch()

    async def work() -> None:
        try:
            await Deferred()
        finally:
            ended.open()

    future = thread.submit(work())
    future.cancel()
    assert ended.wait(10)


def test_forked_child_makes_its_own_thread() -> None:
    before = reactor_thread()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        is_new = reactor_thread() is not before
        os.write(writer, b"new" if is_new else b"old")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 3) == b"new"
    os.close(reader)
    os.close(writer)


def test_thread_can_be_stopped() -> None:
    thread = ReactorThread()

    async def work() -> int:
        return 1

    assert thread.run(lambda _: work()) == 1
    thread.stop()
    assert not thread._thread.is_alive()


def test_latch_is_not_waited_for_in_the_thread_that_would_open_it() -> None:
    async def wait() -> None:
        Latch().wait(1)

    with pytest.raises(RuntimeError, match="another thread"):
        reactor_thread().run(lambda _: wait())
