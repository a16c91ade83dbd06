"""What a client does that knows one address: administer, produce, consume; run by test_gateway.

python -m tests.support.gateway_client CLIENT HOST:PORT TOPIC PARTITIONS COUNT UNREACHABLE_PORT

Prints what it found as JSON.
"""

import contextlib
import json
import socket
import sys
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from kafka.admin import NewTopic as PythonNewTopic

_TIMEOUT_S = 40.0
Found = dict[str, Any]


def confluent(address: str, topic: str, partitions: int, count: int) -> Found:
    """librdkafka: admin client, idempotent producer, consumer with assign."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, partitions - 1, 3)])[topic].result(_TIMEOUT_S)
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_TIMEOUT_S)
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.ms": "7200000"})
    admin.alter_configs([resource])[resource].result(_TIMEOUT_S)
    asked = ConfigResource(ResourceType.TOPIC, topic)
    configs = admin.describe_configs([asked])[asked].result(_TIMEOUT_S)
    _wait_for(lambda: len(_confluent_leaders(admin, topic)) == partitions)
    failed: list[str] = []
    producer = Producer(
        {"bootstrap.servers": address, "acks": "all", "enable.idempotence": True, "linger.ms": 2}
    )
    for number in range(count):
        producer.produce(
            topic,
            str(number),
            partition=number % partitions,
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
        )
        producer.poll(0)
    left = producer.flush(_TIMEOUT_S)
    assert not left
    assert not failed, failed
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "unused", "enable.auto.commit": False}
    )
    every = [TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)]
    consumer.assign(every)
    received: dict[int, list[int]] = {p: [] for p in range(partitions)}
    deadline = time.monotonic() + _TIMEOUT_S
    while sum(map(len, received.values())) < count and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            if message.error():
                raise KafkaException(message.error())
            received[message.partition()].append(int(message.value()))
    ends = [consumer.get_watermark_offsets(tp, _TIMEOUT_S)[1] for tp in every]
    consumer.close()
    metadata = admin.list_topics(topic, timeout=_TIMEOUT_S)
    found = {
        "nodes": sorted(metadata.brokers),
        "controller": metadata.controller_id,
        "leaders": sorted(set(_confluent_leaders(admin, topic).values())),
        "replicas": [len(p.replicas) for p in metadata.topics[topic].partitions.values()],
        "retention": configs["retention.ms"].value,
        "received": list(received.values()),
        "ends": ends,
    }
    admin.delete_topics([topic])[topic].result(_TIMEOUT_S)
    _wait_for(lambda: topic not in admin.list_topics(timeout=_TIMEOUT_S).topics)
    return found


def coordinated(address: str, topic: str, partitions: int, count: int) -> Found:
    """librdkafka: groups of several coordinators, and transactions that commit and abort."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(topic, partitions, 3)])[topic].result(_TIMEOUT_S)
    _wait_for(lambda: len(_confluent_leaders(admin, topic)) == partitions)
    producer = Producer({"bootstrap.servers": address, "transactional.id": f"txn-{topic}"})
    producer.init_transactions(_TIMEOUT_S)
    for number, is_kept in enumerate((True, False, True)):
        producer.begin_transaction()
        for n in range(count):
            producer.produce(topic, f"{number}-{n}", partition=n % partitions)
        if is_kept:
            producer.commit_transaction(_TIMEOUT_S)
        else:
            producer.flush(_TIMEOUT_S)
            producer.abort_transaction(_TIMEOUT_S)
    groups = [f"{topic}-group-{number}" for number in range(4)]
    received = [_consume_in_group(address, topic, group, 2 * count) for group in groups]
    again = _consume_in_group(address, topic, groups[0], 0)
    listed = admin.list_consumer_groups().result(_TIMEOUT_S).valid
    described = admin.describe_consumer_groups(groups)
    states = [described[group].result(_TIMEOUT_S).state.name for group in groups]
    deleted = admin.delete_consumer_groups(groups)
    for group in groups:
        deleted[group].result(_TIMEOUT_S)
    return {
        "received": received,
        "again": again,
        "listed": sorted({g.group_id for g in listed} & set(groups)),
        "groups": groups,
        "states": states,
    }


def _consume_in_group(address: str, topic: str, group: str, count: int) -> list[str]:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([topic])
    received: list[str] = []
    deadline = time.monotonic() + (_TIMEOUT_S if count else 3.0)
    while (len(received) < count or not count) and time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            if message.error():
                raise KafkaException(message.error())
            received.append(message.value().decode())
    if count:
        consumer.commit(asynchronous=False)
    consumer.close()
    return sorted(received)


def _confluent_leaders(admin: AdminClient, topic: str) -> dict[int, int]:
    described = admin.list_topics(topic, timeout=_TIMEOUT_S).topics[topic]
    return {number: p.leader for number, p in described.partitions.items() if p.leader >= 0}


def kafka_python(address: str, topic: str, partitions: int, count: int) -> Found:
    """kafka-python: the same."""
    admin = KafkaAdminClient(bootstrap_servers=address)
    admin.create_topics([PythonNewTopic(topic, partitions, 3)])
    producer = KafkaProducer(bootstrap_servers=address, acks="all", linger_ms=2)
    sent = [
        producer.send(topic, str(number).encode(), partition=number % partitions)
        for number in range(count)
    ]
    for future in sent:
        future.get(_TIMEOUT_S)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=None)
    every = [PythonTopicPartition(topic, p) for p in range(partitions)]
    consumer.assign(every)
    consumer.seek_to_beginning(*every)
    received: dict[int, list[int]] = {p: [] for p in range(partitions)}
    deadline = time.monotonic() + _TIMEOUT_S
    while sum(map(len, received.values())) < count and time.monotonic() < deadline:
        for tp, records in consumer.poll(timeout_ms=500).items():
            received[tp.partition] += [int(record.value) for record in records]
    ends = consumer.end_offsets(every)
    consumer.close()
    (described,) = admin.describe_topics([topic])
    found = {
        # Its describe_cluster wants a field that DescribeCluster 0 does not have.
        "nodes": sorted({p["leader_id"] for p in described["partitions"]}),
        "leaders": sorted({p["leader_id"] for p in described["partitions"]}),
        "replicas": [len(p["replica_nodes"]) for p in described["partitions"]],
        "received": list(received.values()),
        "ends": [ends[tp] for tp in every],
    }
    admin.delete_topics([topic])
    admin.close()
    return found


def _wait_for(condition: Any) -> None:
    deadline = time.monotonic() + _TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _can_connect(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def _main(client: str, address: str, topic: str, partitions: str, count: str, port: str) -> None:
    flows = {"confluent": confluent, "kafka-python": kafka_python, "coordinated": coordinated}
    run = flows[client]
    found = run(address, topic, int(partitions), int(count))
    print(json.dumps({**found, "is_elsewhere_reachable": _can_connect(int(port))}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
