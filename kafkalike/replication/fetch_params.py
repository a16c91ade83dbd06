"""What a fetch asks for and what it gets, apart from the wire."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.cluster.partition import ReadResult
from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.fetch import FetchPartition

CONSUMER_REPLICA_ID = -1
DEBUGGING_REPLICA_ID = -2
NO_REPLICA = -1


class FetchParams(NamedTuple):
    """The limits of one fetch.

    `is_hard_limit`: before Fetch v3 a limit may cut a batch. `client_rack` is None where no replica
    selector is set: then the leader answers (KIP-392).
    """

    replica_id: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation: FetchIsolation
    is_hard_limit: bool = False
    client_rack: str | None = None

    @property
    def is_from_follower(self) -> bool:
        """Whether another broker replicates with this fetch."""
        return self.replica_id >= 0

    @property
    def only_from_leader(self) -> bool:
        """Whether only the leader may answer; debugging consumers read anywhere."""
        return self.replica_id != DEBUGGING_REPLICA_ID and self.client_rack is None


class PartitionRead(NamedTuple):
    """One partition of a fetch: read, or refused."""

    tp: TopicPartition
    request: FetchPartition
    result: ReadResult | None
    error: KafkaError | None = None
    preferred_read_replica: int = NO_REPLICA

    @property
    def size(self) -> int:
        """Bytes of records found."""
        return len(self.result.data.records) if self.result is not None else 0


def must_answer(params: FetchParams, reads: Sequence[PartitionRead]) -> bool:
    """Whether there is enough, or something that the client must learn now."""
    size = 0
    for read in reads:
        if (
            read.result is None
            or read.result.diverging_epoch is not None
            or read.preferred_read_replica != NO_REPLICA
        ):
            return True
        size += len(read.result.data.records)
    return size >= params.min_bytes
