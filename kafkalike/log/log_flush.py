"""A flush in two steps, so that the fsyncs can run in a thread."""

import os
from collections.abc import Callable, Iterable

from kafkalike.log.file_records import FileRecords
from kafkalike.log.log_segment import LogSegment


class LogFlush:
    """The files to force to the disk, and what the log notes when that is done.

    It holds the `.log` files and descriptors of the indexes, so it does not care whether a segment
    is renamed or deleted meanwhile. `run` may block and may run in a thread; an `OSError` from it
    goes to `fail`. `complete` and `fail` are called where the log lives.
    """

    def __init__(
        self,
        segments: Iterable[LogSegment],
        other_files: Iterable[int],
        on_complete: Callable[[int], None],
        on_failure: Callable[[OSError], Exception],
    ) -> None:
        self._logs: list[FileRecords] = []
        self._descriptors = list(other_files)
        self._on_complete = on_complete
        self._on_failure = on_failure
        for segment in segments:
            self._logs.append(segment.log)
            self._descriptors.append(segment.offset_index.open_for_flush())
            self._descriptors.append(segment.time_index.open_for_flush())
            txn_index = segment.txn_index.open_for_flush()
            if txn_index is not None:
                self._descriptors.append(txn_index)

    def __del__(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)

    def run(self) -> None:
        """Force everything to the disk."""
        for log in self._logs:
            log.flush()
        for descriptor in self._descriptors:
            os.fsync(descriptor)

    def complete(self, now_ms: int) -> None:
        """Raise the log's recovery point."""
        self._on_complete(now_ms)

    def fail(self, error: OSError) -> Exception:
        """Tell the log that its disk failed; return the error to raise."""
        return self._on_failure(error)


def flush_segment(segment: LogSegment) -> None:
    """Force all files of a segment to the disk; it blocks."""
    LogFlush([segment], (), lambda _: None, lambda error: error).run()
