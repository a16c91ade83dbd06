"""The benchmark: librdkafka in processes of its own against one broker, ours or Apache Kafka's."""
