"""All that is in partitions up to their present end: how Kafka's own topics are read."""

from collections.abc import Iterator, Sequence
from typing import Final

from kafkalike.client.blocking_consumer import KafkaConsumer
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.model.topic_partition import TopicPartition

_POLL_MS: Final = 1000


def records_of(
    consumer: KafkaConsumer, partitions: Sequence[TopicPartition], newest: int | None = None
) -> Iterator[ConsumerRecord]:
    """Yield the records of partitions, each partition in order; only the newest ones if asked."""
    consumer.assign(partitions)
    ends = consumer.end_offsets(partitions)
    starts = consumer.beginning_offsets(partitions)
    for tp in partitions:
        consumer.seek(tp, starts[tp] if newest is None else max(starts[tp], ends[tp] - newest))
    left = {tp for tp in partitions if consumer.position(tp) < ends[tp]}
    while left:
        for records in consumer.poll(_POLL_MS).values():
            yield from records
        left = {tp for tp in left if consumer.position(tp) < ends[tp]}
