"""`format("kafkalike")`: Spark makes one of these and asks it for a reader or a writer.

Light to import: Spark starts several short-lived processes that need only this module.
"""

from typing import Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from spark_pipeline.datasource.option_values import lower_keys, parse_flag

_COLUMNS: Final = (
    ("key", BinaryType()),
    ("value", BinaryType()),
    ("topic", StringType()),
    ("partition", IntegerType()),
    ("offset", LongType()),
    ("timestamp", TimestampType()),
    ("timestampType", IntegerType()),
)
_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])


class KafkalikeDataSource(DataSource):
    """Topics of kafkalike, or of any Kafka, as a table and as a stream."""

    @classmethod
    def name(cls) -> str:
        """Return the name for `format`."""
        return "kafkalike"

    def schema(self) -> StructType:
        """Return the columns, which are those of Spark's own Kafka source."""
        with_headers = parse_flag(lower_keys(self.options), "includeHeaders", False)
        columns = [StructField(name, kind) for name, kind in _COLUMNS]
        headers = [StructField("headers", ArrayType(_HEADER))] if with_headers else []
        return StructType(columns + headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch query."""
        from spark_pipeline.datasource.batch_reader import BatchReader
        from spark_pipeline.datasource.source_options import parse_source_options

        return BatchReader(parse_source_options(self.options, is_streaming=False))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a streaming query."""
        from spark_pipeline.datasource.source_options import parse_source_options
        from spark_pipeline.datasource.stream_reader import StreamReader

        return StreamReader(parse_source_options(self.options, is_streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """Return the writer of a batch query."""
        from spark_pipeline.datasource.sink import batch_writer

        return batch_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer of a streaming query."""
        from spark_pipeline.datasource.sink import stream_writer

        return stream_writer(self.options, schema)
