"""What a fetch brought of one partition: opened batch by batch as it is asked for.

Leaves out control records and, for `read_committed`, what belongs to aborted transactions.
"""

from collections.abc import Sequence

from kafkalike.client.consumer.batch_decoder import decode_batch
from kafkalike.client.consumer.consumer_record import ConsumerRecord
from kafkalike.client.consumer.subscription_state import PartitionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.messages.fetch import AbortedTransaction
from kafkalike.protocol.records.control_record import ControlRecordType, parse_control_type
from kafkalike.protocol.records.record_batch import BatchHeader, check_crc, iter_batches
from kafkalike.protocol.records.record_reader import iter_records


class CompletedFetch:
    """Records that wait to be given to the program; valid as long as nobody seeks."""

    def __init__(
        self,
        tp: TopicPartition,
        state: PartitionState,
        data: memoryview,
        *,
        aborted: Sequence[AbortedTransaction] | None,
        check_crcs: bool,
    ) -> None:
        self.tp = tp
        self.state = state
        self.seeks = state.seeks
        self.size = len(data)
        self._data = data
        batches = list(iter_batches(data))
        self.next_offset = batches[-1][1].next_offset if batches else None
        self._batches = iter(batches)
        self._aborted = sorted(aborted or (), key=lambda txn: txn.first_offset)
        self._is_committed_only = aborted is not None
        self._aborted_ids: set[int] = set()
        self._check_crcs = check_crcs
        self._records: list[ConsumerRecord] = []
        self._taken = 0

    @property
    def is_stale(self) -> bool:
        """Whether the consumer has since lost the partition or gone elsewhere in it."""
        return not self.state.is_assigned or self.state.seeks != self.seeks

    def take(self, max_records: int) -> list[ConsumerRecord]:
        """Return the next records and move the position behind them; none if there are no more."""
        if self._taken >= len(self._records) and not self._open_next():
            return []
        start = self._taken
        if not start and len(self._records) <= max_records:
            found, self._records = self._records, []
        else:
            found = self._records[start : start + max_records]
            self._taken = start + len(found)
        self.state.position = found[-1].offset + 1
        return found

    def _open_next(self) -> bool:
        """Open batches until one has records to give."""
        for position, header in self._batches:
            if self._check_crcs:
                try:
                    check_crc(self._data, position, header)
                except CorruptRecordError as error:
                    raise CorruptRecordError(
                        f"{self.tp}: batch at offset {header.base_offset}: {error}; "
                        "seek behind it to go on"
                    ) from None
            first = self.state.position or 0
            self._records = []
            self._taken = 0
            if not self._is_hidden(position, header):
                tp = self.tp
                self._records = decode_batch(
                    self._data, position, header, tp.topic, tp.partition, first
                )
            if self._records:
                return True
            # What is left out is behind us all the same (compaction leaves gaps, too).
            self.state.position = max(first, header.next_offset)
        if self.next_offset is not None:
            self.state.position = max(self.state.position or 0, self.next_offset)
        return False

    def _is_hidden(self, position: int, header: BatchHeader) -> bool:
        if header.is_control:
            if self._is_committed_only and header.has_producer_id:
                self._end_transaction(position, header)
            return True
        if not self._is_committed_only or not header.is_transactional:
            return False
        while self._aborted and self._aborted[0].first_offset <= header.last_offset:
            self._aborted_ids.add(self._aborted.pop(0).producer_id)
        return header.producer_id in self._aborted_ids

    def _end_transaction(self, position: int, header: BatchHeader) -> None:
        for record in iter_records(self._data, position, header):
            if parse_control_type(record.key) is ControlRecordType.ABORT:
                self._aborted_ids.discard(header.producer_id)
