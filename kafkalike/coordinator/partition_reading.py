"""Reading a partition of an internal topic from its start to its end, in turns.

A coordinator loads its state so when it is elected. Other requests get a turn every few
milliseconds, however long the partition is.
"""

from collections.abc import Callable
from typing import Final

from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.log.log import Log
from kafkalike.protocol.records.record_batch import BatchHeader, Buffer, iter_batches
from kafkalike.utils.blocking import RunBlocking
from kafkalike.utils.time import Time

_BYTES_PER_TURN: Final = 16 * 1024
"""Some 120 small batches, which take about 5 ms to open."""

AddBatch = Callable[[Buffer, int, BatchHeader], None]


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
    while goes_on():
        data = await _read(find_log(), offset, buffer_bytes, run_blocking)
        start = offset
        turn_end = 0
        for position, header in iter_batches(data):
            if position >= turn_end:
                turn_end = position + _BYTES_PER_TURN
                await time.sleep_ms(0)
                if not goes_on():
                    return
            # A read begins with the whole batch that has the offset.
            if header.next_offset > offset:
                add_batch(data, position, header)
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
