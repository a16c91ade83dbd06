"""Which of the fetched batches a query sees: no control batches, no aborted transactions.

Part of Kafka's `Fetcher`, over whole batches: a transaction's records never share a batch.
"""

from collections.abc import Iterable, Sequence

from kafkalike.protocol.messages.fetch import AbortedTransaction
from kafkalike.protocol.records.control_record import ControlRecordType, parse_control_type
from kafkalike.protocol.records.record_batch import BatchHeader, check_crc, iter_batches
from kafkalike.protocol.records.record_reader import iter_records

PlacedBatch = tuple[int, BatchHeader]


def whole_batches(data: memoryview, *, check_crcs: bool) -> list[PlacedBatch]:
    """Return all batches that were fetched whole, in order."""
    found = list(iter_batches(data))
    if check_crcs:
        for position, header in found:
            check_crc(data, position, header)
    return found


def visible_batches(
    data: memoryview,
    batches: Iterable[PlacedBatch],
    aborted: Sequence[AbortedTransaction] | None,
) -> list[PlacedBatch]:
    """Return the batches to read; `aborted` is None for a reader of uncommitted records."""
    waiting = sorted(aborted or (), key=lambda txn: txn.first_offset, reverse=True)
    hidden: set[int] = set()
    seen: list[PlacedBatch] = []
    for position, header in batches:
        while waiting and waiting[-1].first_offset <= header.last_offset:
            hidden.add(waiting.pop().producer_id)
        if header.is_control:
            if header.producer_id in hidden and _is_abort(data, position, header):
                hidden.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in hidden):
            seen.append((position, header))
    return seen


def _is_abort(data: memoryview, position: int, header: BatchHeader) -> bool:
    return any(
        parse_control_type(record.key) is ControlRecordType.ABORT
        for record in iter_records(data, position, header)
    )
