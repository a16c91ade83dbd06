"""The checker finds each anomaly that is planted, and none in a good history."""

from tests.chaos.checker import check, evidence, gaps
from tests.chaos.history import History
from tests.chaos.replicas import Writer


def a_history() -> History:
    history = History()
    for offset, value in enumerate((b"a", b"b")):
        history.note_acked((0, offset), value, float(offset))
        history.note_consumed((0, offset), value)
    return history


FINAL = {(0, 0): b"a", (0, 1): b"b"}
SENT = (b"a", b"b", b"c")


def test_good_history_has_no_anomaly() -> None:
    assert check(a_history(), FINAL, SENT).is_good


def test_acknowledged_record_that_is_gone_is_lost() -> None:
    verdict = check(a_history(), {(0, 0): b"a"}, SENT)
    assert verdict.lost == (b"b",)


def test_acknowledged_record_that_became_another_is_lost() -> None:
    assert check(a_history(), {**FINAL, (0, 1): b"c"}, SENT).lost == (b"b",)


def test_record_acknowledged_at_no_place_must_be_somewhere() -> None:
    history = a_history()
    history.note_acked((0, -1001), b"c", 3.0)
    assert check(history, FINAL, SENT).lost == (b"c",)
    assert check(history, {**FINAL, (0, 2): b"c"}, SENT).is_good


def test_two_records_acknowledged_at_one_place_cannot_both_be_there() -> None:
    history = a_history()
    history.note_acked((0, 1), b"c", 3.0)
    assert check(history, FINAL, SENT).lost == (b"c",)


def test_evidence_says_where_a_suspect_was_promised_and_where_it_is() -> None:
    final = {**FINAL, (1, 0): b"a"}
    verdict = check(a_history(), final, SENT)
    (line,) = evidence(verdict, a_history(), final)
    assert line == "a: acknowledged at (0, 0), is at [(0, 0), (1, 0)]"


def test_value_at_two_places_is_duplicated() -> None:
    assert check(a_history(), {**FINAL, (1, 0): b"a"}, SENT).duplicated == (b"a",)


def test_value_that_its_producer_sent_again_in_a_new_epoch_is_resent() -> None:
    final = {**FINAL, (1, 0): b"a"}
    verdict = check(a_history(), final, SENT, {(0, 0): Writer(7, 0), (1, 0): Writer(7, 1)})
    assert (verdict.duplicated, verdict.resent, verdict.is_good) == ((), (b"a",), True)
    verdict = check(a_history(), final, SENT, {(0, 0): Writer(7, 0), (1, 0): Writer(7, 0)})
    assert (verdict.duplicated, verdict.resent, verdict.is_good) == ((b"a",), (), False)


def test_offset_that_gave_two_values_is_divergent() -> None:
    history = a_history()
    history.note_consumed((0, 1), b"c")
    assert check(history, FINAL, SENT).divergent == ((0, 1),)


def test_record_that_was_read_and_taken_back_is_divergent() -> None:
    history = a_history()
    history.note_consumed((0, 2), b"c")
    assert check(history, FINAL, SENT).divergent == ((0, 2),)


def test_value_that_nobody_sent_is_invented() -> None:
    assert check(a_history(), {**FINAL, (0, 2): b"x"}, SENT).invented == (b"x",)


def test_record_that_failed_may_be_there_or_not() -> None:
    history = a_history()
    history.note_failed(b"c", "timed out")
    assert check(history, FINAL, SENT).is_good
    assert check(history, {**FINAL, (0, 2): b"c"}, SENT).is_good


def test_gaps_are_found_within_a_partition() -> None:
    assert gaps({(0, 3): b"", (0, 5): b"", (1, 0): b""}) == [(0, 4)]
    assert gaps(FINAL) == []


def test_longest_pause_counts_from_the_beginning_and_to_the_end() -> None:
    history = History()
    for moment in (2.0, 3.0, 9.0):
        history.note_acked((0, int(moment)), str(moment).encode(), moment)
    assert history.longest_pause_s(0.0, 10.0) == 6.0
    assert history.longest_pause_s(-5.0, 3.0) == 7.0


def test_pause_of_one_partition_counts_though_others_go_on() -> None:
    history = History()
    for moment in range(10):
        history.note_acked((1, moment), b"%d" % moment, float(moment))
    history.note_acked((0, 0), b"first", 2.0)
    assert history.longest_pause_s(0.0, 9.0) == 7.0


def test_nothing_acknowledged_is_one_long_pause() -> None:
    assert History().longest_pause_s(1.0, 4.0) == 3.0
