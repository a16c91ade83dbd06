"""Archive: topics to Parquet files, in folders by topic and day; every record exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_pipeline.batch_files import BatchFiles
from spark_pipeline.io import read_stream, start
from spark_pipeline.running import run_stream
from spark_pipeline.settings import StreamSettings, setting
from spark_pipeline.transforms.archive import archived


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings(StreamSettings):
    """Settings of this job."""

    topics: str = setting("trucks", "Topics, with commas between.")
    path: str = setting("archive", "Folder for the files, on any file system that Spark knows.")
    compact_from: int = setting(20, "Make one file of so many in a folder; 0 for never.")


def queries(spark: SparkSession, settings: ArchiveSettings) -> list[StreamingQuery]:
    """Start the query."""
    files = BatchFiles(spark, settings.path)
    files.finish_compaction()

    def write(rows: DataFrame, batch_id: int) -> None:
        files.write(rows, batch_id, ["topic", "day"])
        if settings.compact_from:
            # A batch that may come again is not touched: this one.
            files.compact(before=batch_id, at_least=settings.compact_from)

    rows = read_stream(spark, settings, settings.topics).transform(archived)
    return [start(rows.writeStream.foreachBatch(write), settings, "archive")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the job."""
    return run_stream(ArchiveSettings, __doc__, queries, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
