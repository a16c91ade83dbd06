"""The commands `kafkalike generate` and `kafkalike spark`."""
