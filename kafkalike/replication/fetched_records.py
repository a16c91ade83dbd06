"""What a follower does with the leader's answer: append, or cut its log where it diverges."""

from typing import Protocol

from twisted.logger import Logger

from kafkalike.log.errors import OffsetsOutOfOrderError, UnexpectedAppendOffsetError
from kafkalike.log.fetch_data_info import OffsetAndEpoch
from kafkalike.log.log import Log
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import CorruptRecordError, KafkaStorageError, UnknownServerError
from kafkalike.protocol.messages.fetch import FetchablePartitionResponse
from kafkalike.replication.fetch_state import (
    PartitionFetchState,
    after_truncation,
    truncation_offset,
)

log = Logger()


class FollowerLogs(Protocol):
    """The logs of this broker, as a fetcher needs them."""

    def get_log(self, tp: TopicPartition) -> Log | None:
        """The log of a partition that is here and online."""

    def truncate_to(self, tp: TopicPartition, offset: int) -> None:
        """Cut a log."""

    def truncate_fully_and_start_at(self, tp: TopicPartition, offset: int) -> None:
        """Empty a log."""

    def replicated(self, tp: TopicPartition) -> None:
        """Records or a new high watermark have arrived."""


def take_answer(
    logs: FollowerLogs,
    tp: TopicPartition,
    state: PartitionFetchState,
    answer: FetchablePartitionResponse,
    now_ms: int,
) -> PartitionFetchState:
    """Bring a log in line with its leader's; return where to go on.

    Raises CorruptRecord or InvalidRecord where another try may help, another KafkaError where not.
    """
    local_log = _log(logs, tp)
    diverging = answer.diverging_epoch
    if diverging.epoch >= 0:
        common = OffsetAndEpoch(diverging.end_offset, diverging.epoch)
        return truncate(logs, tp, state, truncation_offset(local_log, common))
    if state.fetch_offset != local_log.log_end_offset:
        raise UnknownServerError(
            f"fetched from {state.fetch_offset}, but the log ends at {local_log.log_end_offset}"
        )
    if answer.record_set:
        info = _append(logs, tp, local_log, memoryview(answer.record_set), now_ms)
        if info.valid_bytes > 0:
            state = state.advanced(
                info.last_offset + 1, info.last_leader_epoch, answer.high_watermark
            )
    local_log.update_high_watermark(answer.high_watermark)
    if answer.log_start_offset > local_log.log_start_offset:
        local_log.maybe_increment_log_start_offset(
            min(answer.log_start_offset, local_log.high_watermark)
        )
    logs.replicated(tp)
    return state


def truncate(
    logs: FollowerLogs, tp: TopicPartition, state: PartitionFetchState, offset: int
) -> PartitionFetchState:
    """Cut a log and return where to go on."""
    local_log = _log(logs, tp)
    if offset < local_log.high_watermark:
        log.warn(
            "{tp}: truncating to {offset}, below the high watermark {high_watermark}",
            tp=tp,
            offset=offset,
            high_watermark=local_log.high_watermark,
        )
    logs.truncate_to(tp, offset)
    return after_truncation(local_log, state, local_log.log_end_offset)


def _log(logs: FollowerLogs, tp: TopicPartition) -> Log:
    local_log = logs.get_log(tp)
    if local_log is None:
        raise KafkaStorageError(f"{tp} is not here any more")
    return local_log


def _append(
    logs: FollowerLogs, tp: TopicPartition, local_log: Log, records: memoryview, now_ms: int
) -> LogAppendInfo:
    try:
        return local_log.append_as_follower(records, now_ms)
    except OffsetsOutOfOrderError as error:
        raise CorruptRecordError(str(error)) from error
    except UnexpectedAppendOffsetError as error:
        end = local_log.log_end_offset
        is_first = end == local_log.log_start_offset
        if not (is_first and error.first_offset < end <= error.last_offset):
            raise UnknownServerError(str(error)) from error
        # The leader's log start lies within a batch: begin with the whole of it.
        logs.truncate_fully_and_start_at(tp, error.first_offset)
        return local_log.append_as_follower(records, now_ms)
