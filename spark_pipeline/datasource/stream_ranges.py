"""From the two ends of a streaming batch to its ranges; tells what was lost in between."""

from collections.abc import Callable, Iterable

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.offset_plan import OffsetRange, ranges_between
from spark_pipeline.datasource.offset_spec import Offsets
from spark_pipeline.datasource.offsets import report_data_loss

Earliest = Callable[[Iterable[TopicPartition]], Offsets]


def batch_ranges(
    start: Offsets, end: Offsets, earliest: Earliest, *, is_fatal: bool
) -> list[OffsetRange]:
    """Return the ranges of a batch; partitions that are new since its start are read whole."""
    gone = sorted(set(start) - set(end))
    if gone:
        report_data_loss(
            f"{', '.join(map(str, gone))} does not exist any more and was not read to its end",
            is_fatal=is_fatal,
        )
    new = sorted(set(end) - set(start))
    first = earliest(new) if new else {}
    for tp, offset in first.items():
        if offset > 0:
            report_data_loss(
                f"{tp} is new, but begins at offset {offset}: offsets 0 to {offset} are gone",
                is_fatal=is_fatal,
            )
    begin = start | first
    for tp in sorted(end):
        if begin[tp] > end[tp]:
            report_data_loss(
                f"{tp} was read up to offset {begin[tp]} and now ends at {end[tp]}: records were "
                "lost, or the topic was made anew",
                is_fatal=is_fatal,
            )
    return ranges_between(begin, end)
