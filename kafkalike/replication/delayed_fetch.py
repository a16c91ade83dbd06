"""A fetch that waits for `min_bytes` (Kafka's DelayedFetch)."""

from collections.abc import Callable, Sequence

from kafkalike.cluster.partition import Partition
from kafkalike.log.log_offset_metadata import LogOffsetMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError
from kafkalike.replication.fetch_params import FetchParams, PartitionRead
from kafkalike.utils.delayed_operation import DelayedOperation


class DelayedFetch(DelayedOperation):
    """Completed when enough bytes are there, when a partition moved, or at the deadline.

    It only counts bytes; the caller reads again once it is completed.
    """

    __slots__ = ("_is_held_up", "_params", "_partition", "_reads", "_then")

    def __init__(
        self,
        params: FetchParams,
        reads: Sequence[PartitionRead],
        partition: Callable[[TopicPartition], Partition],
        then: Callable[[], None],
        is_held_up: Callable[[Partition], bool],
    ) -> None:
        super().__init__()
        self._is_held_up = is_held_up
        self._params = params
        self._reads = reads
        self._partition = partition
        self._then = then

    def try_complete(self) -> bool:
        """Count what is there by now."""
        available = 0
        for read in self._reads:
            assert read.result is not None, "a fetch with an error is answered at once"
            try:
                bytes_here = self._bytes_available(read, read.result.data.fetch_offset_metadata)
            except KafkaError:
                return self.force_complete()  # reading again will tell the client
            if bytes_here is None:
                return self.force_complete()
            available += bytes_here
        return available >= self._params.min_bytes and self.force_complete()

    def on_complete(self) -> None:
        """Let the caller read again."""
        self._then()

    def _bytes_available(self, read: PartitionRead, fetched: LogOffsetMetadata) -> int | None:
        """Count the bytes of one partition; None if the answer must go out now."""
        partition = self._partition(read.tp)
        epoch = read.request.current_leader_epoch
        log = partition.local_log_with_epoch(epoch, only_from_leader=self._params.only_from_leader)
        end = log.fetchable_end(self._params.isolation)
        if end.message_offset == fetched.message_offset:
            # The high watermark may lie on the segment before one that was just rolled.
            return 0
        if fetched.is_message_offset_only or end.is_message_offset_only:
            return None
        if end.segment_base_offset != fetched.segment_base_offset:
            # Truncated, or more than a segment is there.
            return 0 if self._is_held_up(partition) else None
        if fetched.message_offset > end.message_offset or self._is_held_up(partition):
            return 0
        return min(end.position_diff(fetched), read.request.partition_max_bytes)
