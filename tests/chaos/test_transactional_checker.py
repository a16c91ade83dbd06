"""The checker of copies finds each anomaly that is planted, and none in a good copy."""

from tests.chaos.transactional_checker import Outcome, Told, check_copy, mark, unmark

SOURCE = {0: [b"a", b"b", b"c"], 1: [b"x"]}
COPY = {0: [mark("t1", b"a"), mark("t1", b"b"), mark("t2", b"c")], 1: [mark("t1", b"x")]}
TOLD = [
    Told("t0", 3, Outcome.ABORTED),
    Told("t1", 3, Outcome.COMMITTED),
    Told("t2", 1, Outcome.UNKNOWN),
]


def test_good_copy_has_no_anomaly() -> None:
    verdict = check_copy(SOURCE, COPY, TOLD)
    assert verdict.is_good, verdict.problems


def test_mark_can_be_taken_off() -> None:
    """Also from values that look like marks."""
    assert unmark(mark("t1", b"a|b")) == ("t1", b"a|b")


def test_value_that_the_copy_lacks_is_lost() -> None:
    verdict = check_copy(SOURCE, {**COPY, 0: COPY[0][:2]}, TOLD)
    assert verdict.lost == (b"c",)
    assert verdict.problems == ["copy: 1 lost: b'c'"]


def test_value_in_another_partition_is_lost_and_invented() -> None:
    moved = {0: COPY[0][:2], 1: [*COPY[1], COPY[0][2]]}
    verdict = check_copy(SOURCE, moved, TOLD)
    assert (verdict.lost, verdict.invented) == ((b"c",), (b"c",))


def test_value_of_two_transactions_is_duplicated() -> None:
    twice = {**COPY, 1: [*COPY[1], mark("t3", b"x")]}
    verdict = check_copy(SOURCE, twice, [*TOLD, Told("t3", 1, Outcome.COMMITTED)])
    assert verdict.duplicated == (b"x",)


def test_value_that_comes_too_early_is_reordered() -> None:
    verdict = check_copy(SOURCE, {**COPY, 0: [COPY[0][0], COPY[0][2], COPY[0][1]]}, TOLD)
    assert verdict.reordered == (b"b",)
    assert not verdict.lost


def test_value_that_nobody_sent_is_invented() -> None:
    verdict = check_copy(SOURCE, {**COPY, 1: [*COPY[1], mark("t2", b"?")]}, TOLD)
    assert verdict.invented == (b"?",)


def test_value_of_an_aborted_transaction_must_not_be_read() -> None:
    read = {**COPY, 0: [mark("t0", b"a"), *COPY[0][1:]]}
    verdict = check_copy(SOURCE, read, TOLD)
    assert verdict.aborted_read == (b"a",)


def test_transaction_of_which_a_part_is_there_is_torn() -> None:
    for outcome in (Outcome.COMMITTED, Outcome.UNKNOWN):
        told = [Told("t1", 4, outcome), TOLD[2]]
        assert check_copy(SOURCE, COPY, told).torn == ("t1",)


def test_committed_transaction_that_is_not_there_is_torn() -> None:
    verdict = check_copy(SOURCE, COPY, [*TOLD, Told("t9", 2, Outcome.COMMITTED)])
    assert verdict.torn == ("t9",)


def test_transaction_of_unknown_end_may_be_there_or_not() -> None:
    assert check_copy(SOURCE, COPY, [*TOLD, Told("t9", 2, Outcome.UNKNOWN)]).is_good


def test_everything_lost_is_noticed() -> None:
    assert len(check_copy(SOURCE, {}, ()).lost) == 4
