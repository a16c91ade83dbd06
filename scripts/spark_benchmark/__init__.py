"""Reading with `format("kafkalike")` beside Spark's own connector, on one broker."""
