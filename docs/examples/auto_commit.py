"""The risk of auto commit: what was polled counts as done, even if nobody got to do it.

    auto commit: 10 letters, the first consumer printed 3, the second printed 0; 7 are lost
    commit by hand: 10 letters, the first consumer printed 3, the second printed 7; 0 are lost

The first consumer gets ten letters in one poll, hands them to a printer that takes its time, polls
again, and dies after three are printed. With auto commit that second poll (any poll after the
interval) has committed all ten.
"""

import time

from fresh_topic import SERVERS, fresh_topic

from kafkalike.client import KafkaConsumer, KafkaProducer

LETTERS, PRINTED_BEFORE_IT_DIES = 10, 3


def print_letters(topic: str, *, auto_commit: bool, dies: bool) -> int:
    """Return how many letters a consumer of the group printed."""
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=SERVERS,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=auto_commit,
        auto_commit_interval_ms=100,
    )
    try:
        waiting = []
        deadline = time.monotonic() + (60 if dies else 3)
        while not waiting and time.monotonic() < deadline:
            waiting = [r for records in consumer.poll(500).values() for r in records]
        printed = 0
        for letter in waiting:
            if dies and printed == PRINTED_BEFORE_IT_DIES:
                break
            printed += 1
            if not auto_commit:
                consumer.commit({letter.topic_partition: letter.offset + 1})
        time.sleep(0.2)  # the printer is slow ...
        consumer.poll(500)  # ... and the consumer must poll, or it would be taken for dead
        return printed
    finally:
        consumer.close(autocommit=False)  # it dies: nothing is put in order any more


for auto_commit, name in ((True, "auto commit"), (False, "commit by hand")):
    topic = fresh_topic("letters", partitions=1)
    with KafkaProducer(bootstrap_servers=SERVERS) as producer:
        for number in range(LETTERS):
            producer.send(topic, b"letter %d" % number)
    first = print_letters(topic, auto_commit=auto_commit, dies=True)
    second = print_letters(topic, auto_commit=auto_commit, dies=False)
    lost = LETTERS - first - second
    print(
        f"{name}: {LETTERS} letters, the first consumer printed {first}, "
        f"the second printed {second}; {lost} are lost"
    )
