"""Files of batches in a folder that anybody may read: a batch is there once, however often it ran.

A batch is written beside the data and then moved in, file by file, under names that begin with its
number; a repeated batch first takes away what an earlier attempt moved in. Compaction writes one
file for many, notes down which it replaces, and carries on from the note after a crash.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

_STAGING: Final = "_staging"
_NOTE: Final = "_compaction.json"
_NAME: Final = re.compile(r"batch-(\d{10})(?:-(\d{10}))?-.*\.parquet")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of the archive; `folder` is relative (`topic=t/day=2026-01-01`)."""

    folder: str
    name: str

    @property
    def batches(self) -> tuple[int, int]:
        """The first and the last batch in it."""
        found = _NAME.fullmatch(self.name)
        assert found is not None, f"{self.name} is no file of a batch"
        return int(found[1]), int(found[2] or found[1])

    @property
    def path(self) -> str:
        """Its path below the root."""
        return f"{self.folder}/{self.name}"


class BatchFiles:
    """One root, on any file system that Spark knows (Hadoop's FileSystem does the work)."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._spark = spark
        self._root = root.rstrip("/")
        self._jvm: Any = spark._jvm  # the only way to Hadoop's file systems
        configuration = spark._jsc.hadoopConfiguration()
        self._fs: Any = self._path("").getFileSystem(configuration)

    def write(self, rows: DataFrame, batch_id: int, folders: list[str]) -> None:
        """Write a batch, instead of what an earlier attempt of it left."""
        staging = f"{_STAGING}/batch-{batch_id:010d}"
        rows.write.mode("overwrite").partitionBy(*folders).parquet(f"{self._root}/{staging}")
        for old in self.files():
            if old.batches == (batch_id, batch_id):
                self._delete(old.path)
        for number, path in enumerate(self._parquet_below(staging)):
            folder = path.removeprefix(f"{staging}/").rpartition("/")[0]
            self._move(path, f"{folder}/batch-{batch_id:010d}-{number:04d}.parquet")
        self._delete(staging)

    def files(self) -> list[DataFile]:
        """Return the files of all batches."""
        found = []
        for path in self._parquet_below(""):
            folder, _, name = path.rpartition("/")
            if not folder.startswith("_") and _NAME.fullmatch(name):
                found.append(DataFile(folder, name))
        return found

    def compact(self, before: int, at_least: int) -> int:
        """Make one file of the small ones of a folder, of batches before one; returns how many."""
        self.finish_compaction()
        by_folder: dict[str, list[DataFile]] = {}
        for found in self.files():
            if found.batches[1] < before:
                by_folder.setdefault(found.folder, []).append(found)
        count = 0
        for folder, small in sorted(by_folder.items()):
            if len(small) >= at_least:
                self._compact_folder(folder, small)
                count += len(small)
        return count

    def finish_compaction(self) -> None:
        """Carry on where a crash interrupted a compaction."""
        if not self._exists(_NOTE):
            return
        note = json.loads(self._read(_NOTE))
        # Moved in whole before anything is deleted: a reader may see a row twice for a moment, but
        # never misses one.
        if self._exists(note["staged"]):
            self._move(note["staged"], note["target"])
        for source in note["sources"]:
            self._delete(source)
        self._delete(_NOTE)
        self._delete(_STAGING)

    def _compact_folder(self, folder: str, small: list[DataFile]) -> None:
        first = min(found.batches[0] for found in small)
        last = max(found.batches[1] for found in small)
        staging = f"{_STAGING}/compaction"
        paths = [f"{self._root}/{found.path}" for found in small]
        rows = self._spark.read.parquet(*paths).sort("partition", "offset")
        rows.coalesce(1).write.mode("overwrite").parquet(f"{self._root}/{staging}")
        (staged,) = self._parquet_below(staging)
        note = {
            "staged": staged,
            "target": f"{folder}/batch-{first:010d}-{last:010d}-0000.parquet",
            "sources": [found.path for found in small],
        }
        self._write(_NOTE, json.dumps(note))
        self.finish_compaction()

    def _path(self, relative: str) -> Any:
        text = f"{self._root}/{relative}" if relative else self._root
        return self._jvm.org.apache.hadoop.fs.Path(text)

    def _exists(self, relative: str) -> bool:
        return bool(self._fs.exists(self._path(relative)))

    def _parquet_below(self, relative: str) -> Iterator[str]:
        top = self._path(relative)
        if not self._fs.exists(top):
            return
        root = self._fs.makeQualified(self._path("")).toUri().getPath()
        found = self._fs.listFiles(top, True)
        paths = []
        while found.hasNext():
            path = found.next().getPath().toUri().getPath()
            if path.endswith(".parquet"):
                paths.append(path.removeprefix(f"{root}/"))
        yield from sorted(paths)

    def _move(self, source: str, target: str) -> None:
        path = self._path(target)
        self._fs.mkdirs(path.getParent())
        if not self._fs.rename(self._path(source), path):
            raise OSError(f"{self._root}: {source} could not be moved to {target}")

    def _delete(self, relative: str) -> None:
        self._fs.delete(self._path(relative), True)

    def _read(self, relative: str) -> str:
        stream = self._fs.open(self._path(relative))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def _write(self, relative: str, text: str) -> None:
        stream = self._fs.create(self._path(relative), True)
        try:
            stream.write(text.encode())
        finally:
            stream.close()
