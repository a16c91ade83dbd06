"""Spark on kafkalike: a native data source (`format("kafkalike")`) and jobs that use it."""
