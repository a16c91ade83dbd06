"""An acks=all produce that waits until all of the ISR has it (Kafka's DelayedProduce)."""

from collections.abc import Callable

from twisted.logger import Logger

from kafkalike.cluster.partition import Partition
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError, RequestTimedOutError
from kafkalike.utils.delayed_operation import DelayedOperation

log = Logger()


class ProduceStatus:
    """One partition of a produce request: appended, and perhaps still waiting for followers."""

    __slots__ = ("error", "info", "is_pending", "tp")

    def __init__(
        self, tp: TopicPartition, info: LogAppendInfo | None, error: KafkaError | None
    ) -> None:
        self.tp = tp
        self.info = info
        self.error = error
        self.is_pending = False

    def look(self, partition: Callable[[TopicPartition], Partition]) -> None:
        """Stop waiting if all of the ISR has the records, or if they can no longer get there."""
        assert self.info is not None, "only what was appended waits"
        try:
            self.is_pending = not partition(self.tp).has_reached(self.info.last_offset + 1)
        except KafkaError as error:
            self.is_pending = False
            self.error = error


class DelayedProduce(DelayedOperation):
    """Completed when no partition is pending any more; what still is at the deadline timed out."""

    __slots__ = ("_partition", "_statuses", "_then")

    def __init__(
        self,
        statuses: list[ProduceStatus],
        partition: Callable[[TopicPartition], Partition],
        then: Callable[[], None],
    ) -> None:
        super().__init__()
        self._statuses = [status for status in statuses if status.is_pending]
        self._partition = partition
        self._then = then

    def try_complete(self) -> bool:
        """Look again at what is pending."""
        for status in self._statuses:
            if status.is_pending:
                status.look(self._partition)
        return not any(status.is_pending for status in self._statuses) and self.force_complete()

    def on_complete(self) -> None:
        """Let the request be answered."""
        for status in self._statuses:
            if status.is_pending:
                status.is_pending = False
                status.error = RequestTimedOutError(
                    f"{status.tp}: not all in-sync replicas have the records in time"
                )
        self._then()
