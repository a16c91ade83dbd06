"""A batch of one partition on its way: records, then bytes, then an outcome."""

from collections.abc import Sequence
from typing import NamedTuple

from kafkalike.client.producer.batch_encoder import (
    PendingRecord,
    compress_records,
    encode_batch,
    encode_records,
)
from kafkalike.client.producer.record_metadata import FutureRecordMetadata, ProduceResult
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.compression import CompressionType


class BatchSequence(NamedTuple):
    """Who writes the batch and which number its first record has, for idempotence."""

    producer_id: int
    producer_epoch: int
    base_sequence: int


class ProducerBatch:
    """Grows by `append` in the callers' threads until it is closed; then the reactor's alone."""

    __slots__ = (
        "_body",
        "attempts",
        "created_ms",
        "is_closed",
        "is_in_flight",
        "records",
        "result",
        "retry_at_ms",
        "sequence",
        "size",
        "tp",
        "was_sent",
    )

    def __init__(self, tp: TopicPartition, created_ms: int) -> None:
        self.tp = tp
        self.records: list[PendingRecord] = []
        self.size = 0
        self.created_ms = created_ms
        self.result = ProduceResult()
        self.is_closed = False
        self.is_in_flight = False
        self.was_sent = False
        self.attempts = 0
        self.retry_at_ms = 0
        self.sequence: BatchSequence | None = None
        self._body: bytes | None = None

    def append(self, record: PendingRecord, size: int) -> FutureRecordMetadata:
        """Add a record; `size` is the most that it can take."""
        records = self.records
        index = len(records)
        records.append(record)
        self.size += size
        return FutureRecordMetadata(self.result, self.tp, index, record)

    def encode(self, codec: CompressionType, is_transactional: bool) -> bytes:
        """Return the bytes to send; records are encoded and compressed only once."""
        if self._body is None:
            self._body = compress_records(codec, encode_records(self.records))
        if self.sequence is None:
            return encode_batch(self.records, self._body, codec)
        producer_id, producer_epoch, base_sequence = self.sequence
        return encode_batch(
            self.records,
            self._body,
            codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
        )

    def split(self, max_bytes: int) -> Sequence["ProducerBatch"]:
        """Return batches of at most `max_bytes` with the same records, whose outcomes are its own.

        For a broker that finds the whole too large. A future of this batch asks the part that holds
        its record.
        """
        parts: list[ProducerBatch] = []
        size_each = max(1, self.size // len(self.records))
        count = max(1, min(len(self.records) // 2, max_bytes // size_each))
        for start in range(0, len(self.records), count):
            part = ProducerBatch(self.tp, self.created_ms)
            part.records = self.records[start : start + count]
            part.size = size_each * len(part.records)
            part.is_closed = True
            part.attempts = self.attempts
            parts.append(part)
        parts[-1].size = self.size - sum(part.size for part in parts[:-1])
        self.result.split_into([(part.result, len(part.records)) for part in parts])
        return parts
