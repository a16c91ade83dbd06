"""The sender beside threads that add records while it sends."""

from kafkalike.client.kafka_client import KafkaClient
from kafkalike.client.producer.producer_batch import ProducerBatch
from kafkalike.client.producer.producer_config import ProducerConfig
from kafkalike.client.producer.record_accumulator import RecordAccumulator
from kafkalike.client.producer.sender import Sender
from kafkalike.client.producer.sequences import Sequences
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.records.record_batch import iter_batches
from tests.support.client_cluster import FakeCluster

TP = TopicPartition("t", 0)
RECORD = (1, None, b"v", ())
SIZE = 30


class InterruptedSequences(Sequences):
    """Another thread adds a record at the very moment when a batch has been numbered."""

    def __init__(self, accumulator: RecordAccumulator) -> None:
        super().__init__()
        self._accumulator = accumulator
        self.interruptions = 3

    def may_send(self, batch: ProducerBatch) -> bool:
        is_allowed = super().may_send(batch)
        if is_allowed and self.interruptions:
            self.interruptions -= 1
            self._accumulator.append(TP, RECORD, SIZE, may_open=True)
        return is_allowed


def test_numbers_follow_each_other_though_threads_add_while_a_batch_is_numbered() -> None:
    cluster = FakeCluster(brokers=1)
    cluster.add_topic("t", 1)
    config = ProducerConfig(bootstrap_servers=cluster.bootstrap_servers, enable_idempotence=True)
    client = KafkaClient(cluster.reactor, config)
    cluster.run(client.metadata.topic("t", 1000))
    accumulator = RecordAccumulator(1000, 1 << 20, client.time.now_ms, lambda: None)
    sequences = InterruptedSequences(accumulator)
    sequences.set_producer(7, 0)
    sender = Sender(client, config, accumulator, sequences, None)

    accumulator.append(TP, RECORD, SIZE, may_open=True)
    sender.wake()
    cluster.advance(100)
    cluster.run(client.close())

    counts = [
        (header.base_sequence, header.record_count)
        for request in cluster.sent(ProduceRequest)
        for topic in request.topic_data
        for part in topic.partition_data
        for _, header in iter_batches(part.records)
    ]
    assert counts == [(0, 1), (1, 1), (2, 1), (3, 1)]
