import pytest
from twisted.internet.defer import Deferred

from kafkalike.utils.gather import gather
from tests.support.run import result_of, run, start


async def wait_for(deferred: "Deferred[int]") -> int:
    return await deferred


def test_results_come_in_the_order_of_the_coroutines() -> None:
    one: Deferred[int] = Deferred()
    two: Deferred[int] = Deferred()
    gathered = start(gather([wait_for(one), wait_for(two)]))
    two.callback(2)
    assert not gathered.called
    one.callback(1)
    assert result_of(gathered) == [1, 2]


def test_all_are_waited_for_before_the_first_failure_is_raised() -> None:
    one: Deferred[int] = Deferred()
    two: Deferred[int] = Deferred()
    gathered = start(gather([wait_for(one), wait_for(two)]))
    one.errback(ValueError("first"))
    assert not gathered.called
    two.errback(KeyError("second"))
    with pytest.raises(ValueError, match="first"):
        result_of(gathered)


def test_nothing_gathers_to_nothing() -> None:
    assert run(gather([])) == []
