"""Reading a partition of an internal topic from its start to its end, in turns.

A coordinator loads its state so when it is elected. Other requests get a turn every few
milliseconds, however long the partition is.
"""

from collections.abc import Callable, Iterable
from typing import Final

from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.log import Log
from kafkalike.protocol.records.record_batch import BatchHeader, Buffer, iter_batches
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

_RECORDS_PER_TURN: Final = 100
"""After so many records others get a turn: each costs about thirty microseconds."""

AddBatch = Callable[[Buffer, int, BatchHeader], Iterable[None]]
"""Takes in a batch of a buffer; yields after each record, for a batch may have many."""


async def read_partition(
    find_log: Callable[[], Log | None],
    add_batch: AddBatch,
    goes_on: Callable[[], bool],
    *,
    buffer_bytes: int,
    time: Time,
    run_blocking: RunBlocking,
) -> None:
    """Give every batch to `add_batch`, up to the log end, as long as `goes_on`.

    The disk is read in a thread. The log is looked for again before each read: it may be gone.
    """
    offset = 0
    count = 0
    await time.sleep_ms(0)  # who was told of an election has other partitions to look after first
    while goes_on():
        data = await _read(find_log(), offset, buffer_bytes, run_blocking)
        start = offset
        for position, header in iter_batches(data):
            # A read begins with the whole batch that has the offset.
            if header.next_offset <= offset:
                continue
            for _ in add_batch(data, position, header):
                count += 1
                if count % _RECORDS_PER_TURN == 0:
                    await time.sleep_ms(0)
                    if not goes_on():
                        return
            offset = header.next_offset
        if offset == start:
            return


async def _read(
    local_log: Log | None, offset: int, buffer_bytes: int, run_blocking: RunBlocking
) -> bytes:
    if local_log is None or offset >= local_log.log_end_offset:
        return b""
    start = max(offset, local_log.log_start_offset)
    found = local_log.read(start, buffer_bytes, FetchIsolation.LOG_END, min_one_message=True)
    if isinstance(found.records, bytes):
        return found.records
    return await run_blocking(found.records.read)
