"""Found by Spark: it looks for installed modules named `pyspark_…` with a `DefaultSource`."""

from spark_pipeline.datasource.data_source import KafkalikeDataSource

DefaultSource = KafkalikeDataSource
