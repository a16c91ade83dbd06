"""The data source `kafkalike`: reads topics into Arrow columns, writes to topics exactly once."""
