"""Fetch sessions: what is remembered, what is answered, who is pushed out."""

from random import Random

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    ErrorCode,
    FetchSessionIdNotFoundError,
    InvalidFetchSessionEpochError,
)
from kafkalike.protocol.messages.fetch import (
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchPartition,
)
from kafkalike.replication.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    FetchContext,
    FetchSessionCache,
    next_epoch,
)

A, B = TopicPartition("a", 0), TopicPartition("b", 0)
MINUTES = 60_000


def cache(max_entries: int = 10) -> FetchSessionCache:
    return FetchSessionCache(max_entries, Random(1))


def requested(*tps: TopicPartition, offset: int = 0) -> dict[TopicPartition, FetchPartition]:
    return {tp: FetchPartition(partition=tp.partition, fetch_offset=offset) for tp in tps}


def answer(
    tp: TopicPartition,
    *,
    high_watermark: int = 5,
    records: bytes = b"",
    code: ErrorCode = ErrorCode.NONE,
) -> tuple[TopicPartition, FetchablePartitionResponse]:
    return tp, FetchablePartitionResponse(
        partition=tp.partition,
        error_code=code,
        high_watermark=high_watermark,
        log_start_offset=0,
        record_set=records,
    )


def open_session(sessions: FetchSessionCache, *tps: TopicPartition, now_ms: int = 0) -> int:
    context = context_of(sessions, 0, INITIAL_EPOCH, *tps, now_ms=now_ms)
    context.select([answer(tp) for tp in tps])
    return context.session_id


def context_of(
    sessions: FetchSessionCache,
    session_id: int,
    epoch: int,
    *tps: TopicPartition,
    forgotten: tuple[TopicPartition, ...] = (),
    now_ms: int = 0,
    is_follower: bool = False,
) -> FetchContext:
    return sessions.new_context(
        session_id, epoch, requested(*tps), forgotten, now_ms, is_follower=is_follower
    )


def test_fetch_with_the_final_epoch_makes_no_session() -> None:
    sessions = cache()
    context = context_of(sessions, 0, FINAL_EPOCH, A)
    assert context.select([answer(A)]) == [answer(A)]
    assert (context.session_id, len(sessions)) == (0, 0)


def test_full_fetch_opens_a_session_that_knows_its_partitions() -> None:
    sessions = cache()
    session_id = open_session(sessions, A, B)
    assert session_id > 0
    assert [tp for tp, _ in context_of(sessions, session_id, 1).partitions()] == [A, B]


def test_incremental_fetch_answers_only_partitions_with_news() -> None:
    sessions = cache()
    session_id = open_session(sessions, A, B)
    context = context_of(sessions, session_id, 1)
    sent = context.select([answer(A), answer(B, records=b"batch")])
    assert [tp for tp, _ in sent] == [B]


@pytest.mark.parametrize("news", [answer(A, high_watermark=6), answer(A, records=b"x")])
def test_a_new_high_watermark_or_records_are_news(
    news: tuple[TopicPartition, FetchablePartitionResponse],
) -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    assert context_of(sessions, session_id, 1).select([news]) == [news]
    # The same high watermark again is none.
    again = answer(A, high_watermark=news[1].high_watermark)
    assert context_of(sessions, session_id, 2).select([again]) == []


def test_a_diverging_epoch_is_news() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    diverged = answer(A)
    diverged[1].diverging_epoch = EpochEndOffset(epoch=1, end_offset=3)
    assert context_of(sessions, session_id, 1).select([diverged]) == [diverged]


def test_after_an_error_the_next_answer_is_sent_even_if_it_is_the_old_one() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    failed = answer(A, code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert context_of(sessions, session_id, 1).select([failed]) == [failed]
    assert context_of(sessions, session_id, 2).select([answer(A)]) == [answer(A)]


def test_partition_that_was_answered_goes_to_the_end_of_the_line() -> None:
    sessions = cache()
    session_id = open_session(sessions, A, B)
    context_of(sessions, session_id, 1).select([answer(A, records=b"x"), answer(B)])
    assert [tp for tp, _ in context_of(sessions, session_id, 2).partitions()] == [B, A]


def test_requests_add_change_and_forget_partitions() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    sessions.new_context(session_id, 1, requested(A, B, offset=7), (), 0, is_follower=False)
    context = context_of(sessions, session_id, 2, forgotten=(A,))
    assert [(tp, wanted.fetch_offset) for tp, wanted in context.partitions()] == [(B, 7)]


def test_session_without_partitions_is_closed() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    context = context_of(sessions, session_id, 1, forgotten=(A,))
    assert (context.session_id, len(sessions)) == (0, 0)


def test_unknown_session_and_wrong_epoch_are_refused() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    with pytest.raises(FetchSessionIdNotFoundError):
        context_of(sessions, session_id + 1, 1)
    with pytest.raises(InvalidFetchSessionEpochError):
        context_of(sessions, session_id, 2)


def test_an_answer_is_refused_when_a_later_request_overtook_it() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    overtaken = context_of(sessions, session_id, 1)
    context_of(sessions, session_id, 2)
    with pytest.raises(InvalidFetchSessionEpochError):
        overtaken.select([answer(A)])


def test_a_full_fetch_closes_the_session_it_names() -> None:
    sessions = cache()
    session_id = open_session(sessions, A)
    context_of(sessions, session_id, FINAL_EPOCH, A)
    with pytest.raises(FetchSessionIdNotFoundError):
        context_of(sessions, session_id, 1)


def test_full_cache_refuses_a_young_equal() -> None:
    sessions = cache(max_entries=1)
    open_session(sessions, A)
    assert open_session(sessions, A, now_ms=1) == 0


def test_full_cache_lets_a_stale_session_go() -> None:
    sessions = cache(max_entries=1)
    old = open_session(sessions, A, B)
    new = open_session(sessions, A, now_ms=3 * MINUTES)
    assert new != 0
    with pytest.raises(FetchSessionIdNotFoundError):
        context_of(sessions, old, 1)


def test_follower_pushes_a_consumer_out_but_not_the_other_way_round() -> None:
    sessions = cache(max_entries=1)
    open_session(sessions, A, B)
    follower = context_of(sessions, 0, INITIAL_EPOCH, A, is_follower=True)
    follower.select([answer(A)])
    assert follower.session_id != 0
    assert open_session(sessions, A, B, now_ms=1) == 0


def test_larger_session_pushes_out_a_smaller_one_that_is_not_young_but_in_use() -> None:
    sessions = cache(max_entries=1)
    small = open_session(sessions, A)
    context_of(sessions, small, 1, now_ms=2 * MINUTES)
    assert open_session(sessions, A, B, now_ms=3 * MINUTES) != 0


def test_epoch_after_the_last_is_one() -> None:
    assert (next_epoch(0), next_epoch(2**31 - 1)) == (1, 1)
