"""Turns what the options say into offsets, and looks for data that is gone."""

import logging
from collections.abc import Iterable, Mapping

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import KafkaError
from spark_pipeline.datasource.cluster import Cluster
from spark_pipeline.datasource.errors import DataLossError, DataSourceError, missing_permission
from spark_pipeline.datasource.offset_plan import OffsetRange
from spark_pipeline.datasource.offset_spec import EARLIEST, LATEST, Offsets, OffsetSpec
from spark_pipeline.datasource.source_options import SourceOptions

log = logging.getLogger(__name__)  # Spark shows it in the log of driver or executor


class OffsetReader:
    """Where the partitions of a query begin and end (Spark's `KafkaOffsetReader`)."""

    def __init__(self, options: SourceOptions, cluster: Cluster) -> None:
        self._options = options
        self._cluster = cluster

    def partitions(self, *, must_exist: bool) -> set[TopicPartition]:
        """Return the partitions that are read; without any, or with some missing, an error."""
        subscription = self._options.subscription
        try:
            known = self._cluster.partitions(subscription.asked_topics)
        except KafkaError as error:
            raise DataSourceError(
                f"option {subscription}: {error}{missing_permission(error)}"
            ) from error
        missing = subscription.missing(known)
        chosen = subscription.choose(known)
        if must_exist and (missing or (not chosen and not subscription.pattern)):
            raise DataSourceError(
                f"option {subscription}: {', '.join(missing)} does not exist at "
                f"{self._options.kafka.bootstrap_servers}; create the topic or change the option"
            )
        return chosen

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Return the first offsets that are still there."""
        return self._cluster.offsets_at(partitions, EARLIEST)

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        """Return the offsets behind the last record that may be read."""
        return self._cluster.offsets_at(partitions, LATEST)

    def starting(self, partitions: set[TopicPartition]) -> Offsets:
        """Return the offsets to begin at."""
        return self._resolve(self._options.starting, partitions, is_start=True)

    def ending(self, partitions: set[TopicPartition]) -> Offsets:
        """Return the offsets to end before."""
        return self._resolve(self._options.ending, partitions, is_start=False)

    def _resolve(
        self, spec: OffsetSpec, partitions: set[TopicPartition], *, is_start: bool
    ) -> Offsets:
        spec.check_covers(partitions)
        wanted = {tp: spec.of(tp) for tp in partitions}
        if spec.is_timestamp:
            return self._at_times(spec, wanted, is_start=is_start)
        asked = {tp: number for tp, number in wanted.items() if number < 0}
        found = self._cluster.list_offsets(asked) if asked else {}
        return {tp: (found[tp] or 0) if tp in found else wanted[tp] for tp in wanted}

    def _at_times(
        self, spec: OffsetSpec, wanted: Mapping[TopicPartition, int], *, is_start: bool
    ) -> Offsets:
        found = self._cluster.list_offsets(wanted)
        late = [tp for tp, offset in found.items() if offset is None]
        if late and is_start and not self._options.is_latest_without_match:
            tp = min(late)
            raise DataSourceError(
                f"option {spec.option}: {tp} has no record at or after time {wanted[tp]}; use an "
                "earlier time, or startingOffsetsByTimestampStrategy=latest"
            )
        ends = self.latest(late) if late else {}
        return {tp: ends[tp] if offset is None else offset for tp, offset in found.items()}


def report_data_loss(message: str, *, is_fatal: bool) -> None:
    """Fail the query or warn, as `failOnDataLoss` says."""
    if is_fatal:
        raise DataLossError(f"{message}. To go on without them set failOnDataLoss to false")
    log.warning("%s; going on without them", message)


def checked_range(
    offset_range: OffsetRange, earliest: int, latest: int, *, is_fatal: bool
) -> OffsetRange | None:
    """Return what is left of a range in a log that goes from `earliest` to `latest`.

    `latest` may be beyond the range's end; a log that ends before it has lost records.
    """
    tp, start, end = offset_range.tp, offset_range.start, offset_range.end
    if start < earliest:
        report_data_loss(
            f"{tp}: offsets {start} to {min(earliest, end)} are gone, the log begins at {earliest}",
            is_fatal=is_fatal,
        )
    if end > latest:
        report_data_loss(
            f"{tp}: offsets up to {end} are wanted, but the log ends at {latest}; the topic may "
            "have been made anew",
            is_fatal=is_fatal,
        )
    start, end = max(start, earliest), min(end, latest)
    return OffsetRange(tp.topic, tp.partition, start, end) if start < end else None
