"""The writers that Spark calls: they know batch, task and query, and leave the rest to a task."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from spark_pipeline.datasource.errors import DataSourceError, OptionError
from spark_pipeline.datasource.sink_options import SinkOptions, parse_sink_options
from spark_pipeline.datasource.sink_rows import check_schema

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass
class Written(WriterCommitMessage):
    """What a task has done."""

    row_count: int
    is_repeated: bool = False


class _Writer:
    """What both writers share; made at the driver, copied to the tasks."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def _at(self, point: str) -> None:
        """Take note of where a task is; tests let it die there."""

    def _write(self, batches: "Iterator[pa.RecordBatch]", prefix: str, batch_id: int) -> Written:
        # Imported by tasks only: the driver needs no producer.
        from spark_pipeline.datasource.task_writer import TaskWriter

        writer = TaskWriter(self._options, self._at)
        if not self._options.is_exactly_once:
            return Written(writer.write_at_least_once(batches))
        count = writer.write_once(batches, f"{prefix}-{_task().partitionId()}", batch_id)
        return Written(0, is_repeated=True) if count is None else Written(count)


class BatchWriter(_Writer, DataSourceArrowWriter):
    """Writes a DataFrame. Attempts of a task know each other by the id of the job."""

    def __init__(self, options: SinkOptions) -> None:
        super().__init__(options)
        self._prefix = options.transactional_id_prefix or f"spark-job-{uuid.uuid4()}"

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        """Write the rows of one task."""
        return self._write(iterator, self._prefix, self._options.batch_id or 0)


class StreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the batches of a streaming query, whose id the checkpoint keeps."""

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        """Write the rows of one task."""
        batch_id = _property("streaming.sql.batchId")
        prefix = self._options.transactional_id_prefix
        if prefix is None:
            prefix = f"spark-{_property('sql.streaming.queryId')}"
        return self._write(iterator, prefix, int(batch_id))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: the tasks have committed."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """Do nothing: what is committed stays, and is known when the batch comes again."""


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> BatchWriter:
    """Return the writer of a batch query."""
    if overwrite:
        raise OptionError("mode overwrite is not possible: a topic can only be appended to")
    return BatchWriter(_checked(options, schema))


def stream_writer(options: Mapping[str, str], schema: StructType) -> StreamWriter:
    """Return the writer of a streaming query."""
    found = _checked(options, schema)
    if found.batch_id is not None:
        raise OptionError("option batchId is for batch queries: a stream numbers its batches")
    return StreamWriter(found)


def _checked(options: Mapping[str, str], schema: StructType) -> SinkOptions:
    found = parse_sink_options(options)
    check_schema(schema, found.topic)
    return found


def _task() -> Any:  # Any: pyspark's context has no types for what a task has
    context = TaskContext.get()
    if context is None:
        raise DataSourceError("the sink writes in tasks of Spark only")
    return context


def _property(name: str) -> str:
    value = _task().getLocalProperty(name)
    if value is None:
        raise DataSourceError(f"Spark did not tell the task its {name}")
    return str(value)
