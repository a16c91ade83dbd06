"""Stream processing: amounts in, running totals out, each amount counted exactly once.

    ann 10, bob 7, ann 15, bob 9
    the processor was stopped in the middle, and its successor went on

Totals and the position of the reader are written in one transaction: either both are there or
neither. A processor that dies in between leaves nothing that readers of committed data would see.
"""

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaConsumer, KafkaProducer, TopicPartition

amounts, totals = fresh_topic("amounts", 1), fresh_topic("totals", 1)

with KafkaProducer(bootstrap_servers=SERVERS, key_serializer="str", value_serializer="int") as shop:
    for customer, amount in (("ann", 10), ("bob", 7), ("ann", 5), ("bob", 2)):
        shop.send(amounts, key=customer, value=amount)


def read_totals() -> dict[str, int]:
    """Return what the processors have written so far, the state to go on from."""
    found: dict[str, int] = {}
    partition = TopicPartition(totals, 0)
    with KafkaConsumer(
        bootstrap_servers=SERVERS,
        isolation_level="read_committed",
        key_deserializer="str",
        value_deserializer="int",
    ) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([partition])[partition]
        while consumer.position(partition) < end:
            for records in consumer.poll(1000).values():
                found |= {record.key: record.value for record in records}
    return found


def process(count: int, *, dies: bool) -> None:
    """Process so many amounts, each in a transaction; perhaps die in the middle of one more."""
    with (
        KafkaConsumer(
            amounts,
            bootstrap_servers=SERVERS,
            group_id=amounts,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            key_deserializer="str",
            value_deserializer="int",
            max_poll_records=1,
            consumer_timeout_ms=30_000,
        ) as consumer,
        KafkaProducer(
            bootstrap_servers=SERVERS,
            transactional_id=amounts,
            key_serializer="str",
            value_serializer="int",
        ) as producer,
    ):
        producer.init_transactions()  # ends what a predecessor left open
        known = read_totals()
        for done, record in enumerate(consumer):
            producer.begin_transaction()
            known[record.key] = known.get(record.key, 0) + record.value
            producer.send(totals, key=record.key, value=known[record.key])
            if done == count and dies:
                producer.flush()  # it is written, but it will never be committed
                return
            offset = {record.topic_partition: record.offset + 1}
            producer.send_offsets_to_transaction(offset, consumer.group_metadata())
            producer.commit_transaction()
            if done + 1 == count and not dies:
                return


process(2, dies=True)
process(2, dies=False)

with KafkaConsumer(
    totals,
    bootstrap_servers=SERVERS,
    auto_offset_reset="earliest",
    isolation_level="read_committed",
    key_deserializer="str",
    value_deserializer="int",
    consumer_timeout_ms=30_000,
) as reader:
    print(", ".join(f"{r.key} {r.value}" for r in (next(reader) for _ in range(4))))
print("the processor was stopped in the middle, and its successor went on")
