"""What must be on the disk before it is acknowledged: `flush.messages`, and the last replicas.

Apache Kafka knows only the former. Here acks=all means more than the page cache of one machine also
where replicas have left the ISR and no more may: an unclean end of the last one loses nothing.
"""

from collections.abc import Awaitable, Callable

from kafkalike.cluster.partition import ACKS_ALL, Partition
from kafkalike.log.log import Log
from kafkalike.log.log_append_info import LogAppendInfo
from kafkalike.protocol.errors import KafkaError
from kafkalike.replication.group_flush import GroupFlush


class AppendFlush:
    """Decides which appends to flush, and lets flushes of a log gather."""

    def __init__(
        self, flush: Callable[[Log], Awaitable[None]], *, flushes_last_replica: bool
    ) -> None:
        self._group_flush = GroupFlush(flush)
        self._flushes_last_replica = flushes_last_replica

    def is_due(self, partition: Partition, info: LogAppendInfo, required_acks: int) -> bool:
        """Whether an append has to be on the disk before its answer, and is not."""
        if info.is_flush_due or (required_acks == ACKS_ALL and self._is_last_standing(partition)):
            return partition.log is not None and partition.log.recovery_point <= info.last_offset
        return False

    async def run(self, partition: Partition) -> KafkaError | None:
        """Bring the log to the disk; return why that failed."""
        try:
            await self._group_flush.flush(partition.local_log)
        except KafkaError as error:
            return error
        return None

    def isr_changed(self, partition: Partition) -> None:
        """Begin to flush what was acknowledged while there were more replicas."""
        if partition.is_leader and partition.log is not None and self._is_last_standing(partition):
            self._group_flush.start(partition.log)

    def _is_last_standing(self, partition: Partition) -> bool:
        return self._flushes_last_replica and partition.is_last_standing
