"""`replication-offset-checkpoint` of each log directory: high watermarks over a restart."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.checkpoint import HIGH_WATERMARK_CHECKPOINT_FILE, OffsetCheckpointFile
from kafkalike.log.log import Log
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.utils.blocking import RunBlocking

log = Logger()

Offsets = Mapping[TopicPartition, int]


class HighWatermarkCheckpoints:
    """Reads the files once, at start; writes those of which something changed."""

    def __init__(self, directories: Iterable[Path], run_blocking: RunBlocking) -> None:
        self._files = {
            directory: OffsetCheckpointFile(directory / HIGH_WATERMARK_CHECKPOINT_FILE)
            for directory in directories
        }
        self._written: dict[Path, Offsets] = {}
        self._run_blocking = run_blocking

    def read(self, directory: Path, tp: TopicPartition) -> int:
        """Return the high watermark a replica had when it was last written down, else 0."""
        if directory not in self._written:
            self._written[directory] = self._files[directory].read()
        return self._written[directory].get(tp, 0)

    async def write(self, logs: Iterable[Log]) -> None:
        """Write down the high watermarks of all logs; a file that fails takes its logs offline."""
        by_directory: dict[Path, dict[TopicPartition, int]] = {}
        example: dict[Path, Log] = {}
        for local_log in logs:
            directory = local_log.parent_dir
            offsets = by_directory.setdefault(directory, {})
            offsets[local_log.topic_partition] = local_log.high_watermark
            example[directory] = local_log
        for directory, offsets in by_directory.items():
            if offsets == self._written.get(directory):
                continue
            try:
                await self._run_blocking(self._files[directory].write, offsets)
            except OSError as error:
                file = self._files[directory].path
                example[directory].storage_failed(f"Error while writing {file}", error)
            else:
                self._written[directory] = offsets
