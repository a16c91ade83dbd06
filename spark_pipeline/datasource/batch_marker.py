"""The mark that a batch was written: a group's committed offset, part of the transaction.

Each task has a group of its own, named as its transactional id. The offset is the batch's id plus
one; its metadata is the number of rows. What commits the rows commits the mark.
"""

from dataclasses import dataclass

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.errors import error_for
from kafkalike.protocol.messages.offset_fetch import OffsetFetchRequest
from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.errors import DataSourceError


@dataclass(frozen=True, slots=True)
class BatchMarker:
    """The last batch that a task has written."""

    batch_id: int
    row_count: int | None = None

    @property
    def offset(self) -> int:
        """The committed offset that says so."""
        return self.batch_id + 1

    @property
    def metadata(self) -> str:
        """What is committed with the offset."""
        return "" if self.row_count is None else f"rows={self.row_count}"

    def check_repeats(self, batch_id: int, row_count: int, transactional_id: str) -> None:
        """Raise if a batch that was written comes again with other rows."""
        if self.batch_id == batch_id and self.row_count not in (None, row_count):
            raise DataSourceError(
                f"batch {batch_id} was written before by {transactional_id} with {self.row_count} "
                f"rows and now has {row_count}: a repeated batch must have the same rows in the "
                "same tasks (did minPartitions, the query or the number of shuffle partitions "
                "change?)"
            )


def marker_place(topic: str) -> TopicPartition:
    """Return the partition whose offset is committed: it must exist, and that is all."""
    return TopicPartition(topic, 0)


def parse_marker(offset: int, metadata: str | None) -> BatchMarker:
    """Read a committed offset."""
    name, _, count = (metadata or "").partition("=")
    rows = int(count) if name == "rows" and count.isdigit() else None
    return BatchMarker(offset - 1, rows)


def last_marker(cluster: Cluster, group_id: str) -> BatchMarker | None:
    """Return the mark of the last batch that a task has committed."""
    request = OffsetFetchRequest(group_id=group_id, topics=None, require_stable=True)

    def ask() -> BatchMarker | None:
        answer = cluster.coordinator_connection(group_id).send(request)
        _check(answer.error_code, group_id)
        found: list[BatchMarker] = []
        for topic in answer.topics:
            for part in topic.partitions:
                _check(part.error_code, group_id)
                if part.committed_offset >= 0:
                    found.append(parse_marker(part.committed_offset, part.metadata))
        return max(found, key=lambda marker: marker.batch_id, default=None)

    return cluster.retrying(ask, f"committed batch of group {group_id}")


def _check(code: int, group_id: str) -> None:
    if code != ErrorCode.NONE:
        problem = error_for(code)
        raise problem(f"group {group_id}: {problem()}")
