from collections.abc import Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock

from kafkalike.utils.delayed_operation import (
    DelayedOperation,
    DelayedOperationPurgatory,
    watch,
)
from kafkalike.utils.time import Time

TIMEOUT_MS = 100


class Operation(DelayedOperation):
    """Completes when `is_ready`; counts what happened."""

    __slots__ = ("completed", "expired", "is_ready", "looked")

    def __init__(self, *, is_ready: bool = False) -> None:
        super().__init__()
        self.is_ready = is_ready
        self.looked = 0
        self.completed = 0
        self.expired = 0

    def try_complete(self) -> bool:
        self.looked += 1
        return self.is_ready and self.force_complete()

    def on_complete(self) -> None:
        self.completed += 1

    def on_expiration(self) -> None:
        self.expired += 1


class Waiting:
    """A purgatory on a clock of the test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.purgatory = DelayedOperationPurgatory(Time(self.clock))

    def watch(self, operation: Operation, *keys: Hashable) -> bool:
        return self.purgatory.try_complete_else_watch(operation, keys, TIMEOUT_MS)

    def advance_ms(self, amount: int) -> None:
        self.clock.advance(amount / 1000)

    @property
    def is_empty(self) -> bool:
        return not len(self.purgatory) and not self.clock.getDelayedCalls()


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


def test_what_is_ready_completes_at_once_and_is_never_watched(waiting: Waiting) -> None:
    operation = Operation(is_ready=True)
    assert waiting.watch(operation, "a")
    assert (operation.completed, operation.looked) == (1, 1)
    assert waiting.is_empty


def test_what_is_not_ready_completes_when_its_key_changes(waiting: Waiting) -> None:
    operation = Operation()
    assert not waiting.watch(operation, "a", "b")
    assert waiting.purgatory.check_and_complete("a") == 0
    operation.is_ready = True
    assert waiting.purgatory.check_and_complete("other") == 0
    assert operation.completed == 0
    assert waiting.purgatory.check_and_complete("b") == 1
    assert (operation.completed, operation.expired) == (1, 0)


def test_an_operation_completes_once_under_however_many_keys(waiting: Waiting) -> None:
    operation = Operation()
    waiting.watch(operation, "a", "b")
    operation.is_ready = True
    assert [waiting.purgatory.check_and_complete(key) for key in ("a", "b", "a")] == [1, 0, 0]
    assert operation.completed == 1
    assert waiting.is_empty


def test_the_deadline_completes_and_says_so(waiting: Waiting) -> None:
    operation = Operation()
    waiting.watch(operation, "a", "b")
    waiting.advance_ms(TIMEOUT_MS - 1)
    assert operation.completed == 0
    waiting.advance_ms(1)
    assert (operation.completed, operation.expired) == (1, 1)
    assert waiting.is_empty
    assert waiting.purgatory.check_and_complete("a") == 0


def test_a_completed_operation_has_no_deadline_any_more(waiting: Waiting) -> None:
    operation = Operation()
    waiting.watch(operation, "a")
    assert operation.force_complete()
    assert not operation.force_complete()
    waiting.advance_ms(TIMEOUT_MS)
    assert (operation.completed, operation.expired) == (1, 0)


def test_only_the_operations_that_are_ready_complete(waiting: Waiting) -> None:
    ready, unready = Operation(), Operation()
    waiting.watch(ready, "a")
    waiting.watch(unready, "a")
    ready.is_ready = True
    assert waiting.purgatory.check_and_complete("a") == 1
    assert (ready.completed, unready.completed) == (1, 0)
    assert len(waiting.purgatory) == 1


def test_operations_under_one_key_are_looked_at_in_the_order_they_came(waiting: Waiting) -> None:
    order: list[int] = []
    for number in range(5):
        watch(waiting.purgatory, lambda n=number: order.append(n) or False, ["a"], 10, lambda: None)
    order.clear()
    waiting.purgatory.check_and_complete("a")
    assert order == [0, 1, 2, 3, 4]


def test_cancelling_a_key_gives_back_what_waited_there(waiting: Waiting) -> None:
    one, two, done = Operation(), Operation(), Operation()
    waiting.watch(one, "a")
    waiting.watch(two, "a", "b")
    waiting.watch(done, "a")
    done.force_complete()
    assert waiting.purgatory.cancel_for_key("a") == [one, two]
    assert waiting.purgatory.cancel_for_key("a") == []
    two.is_ready = True
    assert waiting.purgatory.check_and_complete("b") == 1


def test_shutdown_completes_everything(waiting: Waiting) -> None:
    operations = [Operation() for _ in range(3)]
    for operation in operations:
        waiting.watch(operation, "a", "b")
    waiting.purgatory.shutdown()
    assert [operation.completed for operation in operations] == [1, 1, 1]
    assert waiting.is_empty


def test_completing_may_watch_something_new_under_the_same_key(waiting: Waiting) -> None:
    again = Operation()
    state = {"ready": False}
    watch(
        waiting.purgatory,
        lambda: state["ready"],
        ["a"],
        TIMEOUT_MS,
        lambda: waiting.watch(again, "a"),
    )
    state["ready"] = True
    assert waiting.purgatory.check_and_complete("a") == 1
    again.is_ready = True
    assert waiting.purgatory.check_and_complete("a") == 1
    assert waiting.is_empty


def test_what_completed_under_one_key_is_forgotten_under_all(waiting: Waiting) -> None:
    """A key that never changes again must not gather the past waits of the others."""
    for _ in range(100):
        operation = Operation()
        waiting.watch(operation, "busy", "quiet")
        operation.is_ready = True
        waiting.purgatory.check_and_complete("busy")
    assert waiting.is_empty


def test_watching_a_condition_calls_when_it_holds_or_at_the_deadline(waiting: Waiting) -> None:
    called: list[str] = []
    state = {"ready": False}
    watch(waiting.purgatory, lambda: True, ["a"], 10, lambda: called.append("at once"))
    watch(waiting.purgatory, lambda: state["ready"], ["a"], 10, lambda: called.append("ready"))
    watch(waiting.purgatory, lambda: False, ["a"], 10, lambda: called.append("late"))
    assert called == ["at once"]
    state["ready"] = True
    waiting.purgatory.check_and_complete("a")
    assert called == ["at once", "ready"]
    waiting.advance_ms(10)
    assert called == ["at once", "ready", "late"]


keys = st.lists(st.sampled_from("abc"), min_size=1, unique=True)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("watch"), keys),
        st.tuples(st.just("ready"), st.integers(0, 9)),
        st.tuples(st.just("check"), st.sampled_from("abc")),
        st.tuples(st.just("advance"), st.integers(0, TIMEOUT_MS)),
    )
)


@given(steps)
def test_whatever_happens_each_operation_completes_exactly_once(
    script: list[tuple[str, object]],
) -> None:
    waiting = Waiting()
    operations: list[Operation] = []
    for step, argument in script:
        match step, argument:
            case "watch", list():
                operations.append(Operation())
                waiting.watch(operations[-1], *argument)
            case "ready", int() if argument < len(operations):
                operations[argument].is_ready = True
            case "check", str():
                waiting.purgatory.check_and_complete(argument)
            case "advance", int():
                waiting.advance_ms(argument)
        assert all(operation.completed <= 1 for operation in operations)
    waiting.advance_ms(TIMEOUT_MS)
    assert [operation.completed for operation in operations] == [1] * len(operations)
    assert waiting.is_empty
