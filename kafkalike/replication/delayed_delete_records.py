"""A DeleteRecords that waits until all live replicas have done it (`DelayedDeleteRecords`)."""

from collections.abc import Callable, Sequence

from kafkalike.cluster.partition import Partition
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.utils.delayed_operation import DelayedOperation


class DeleteRecordsStatus:
    """One partition: what its log start offset shall become, and how far its replicas are."""

    __slots__ = ("error_code", "is_pending", "low_watermark", "required_offset", "tp")

    def __init__(
        self, tp: TopicPartition, required_offset: int, error_code: ErrorCode = ErrorCode.NONE
    ) -> None:
        self.tp = tp
        self.required_offset = required_offset
        self.error_code = error_code
        self.is_pending = error_code is ErrorCode.NONE
        self.low_watermark = -1

    def look(
        self, partition: Callable[[TopicPartition], Partition], live_brokers: Sequence[int]
    ) -> None:
        """See whether all live replicas have reached the offset."""
        try:
            self.low_watermark = partition(self.tp).low_watermark(live_brokers)
        except KafkaError as error:
            self.is_pending = False
            self.error_code = error.code
            return
        self.is_pending = self.low_watermark < self.required_offset


class DelayedDeleteRecords(DelayedOperation):
    """Completed when no partition is pending any more."""

    __slots__ = ("_live_brokers", "_partition", "_statuses", "_then")

    def __init__(
        self,
        statuses: Sequence[DeleteRecordsStatus],
        partition: Callable[[TopicPartition], Partition],
        live_brokers: Callable[[], Sequence[int]],
        then: Callable[[], None],
    ) -> None:
        super().__init__()
        self._statuses = statuses
        self._partition = partition
        self._live_brokers = live_brokers
        self._then = then

    def try_complete(self) -> bool:
        """Look again at what is pending."""
        live_brokers = self._live_brokers()
        for status in self._statuses:
            if status.is_pending:
                status.look(self._partition, live_brokers)
        return not any(status.is_pending for status in self._statuses) and self.force_complete()

    def on_complete(self) -> None:
        """Let the request be answered; what is still pending timed out."""
        for status in self._statuses:
            if status.is_pending:
                status.is_pending = False
                status.error_code = ErrorCode.REQUEST_TIMED_OUT
        self._then()
