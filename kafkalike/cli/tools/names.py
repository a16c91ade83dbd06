"""All tools: the name of each, as a command, and where it lives."""

from typing import Final

MODULES: Final = {
    "kafka-acls": "kafkalike.cli.tools.acls",
    "kafka-broker-api-versions": "kafkalike.cli.tools.broker_api_versions",
    "kafka-cluster": "kafkalike.cli.tools.cluster",
    "kafka-configs": "kafkalike.cli.tools.configs",
    "kafka-console-consumer": "kafkalike.cli.tools.console_consumer",
    "kafka-console-producer": "kafkalike.cli.tools.console_producer",
    "kafka-consumer-groups": "kafkalike.cli.tools.consumer_groups",
    "kafka-consumer-perf-test": "kafkalike.cli.tools.consumer_perf_test",
    "kafka-delegation-tokens": "kafkalike.cli.tools.delegation_tokens",
    "kafka-delete-records": "kafkalike.cli.tools.delete_records",
    "kafka-dump-log": "kafkalike.cli.tools.dump_log",
    "kafka-features": "kafkalike.cli.tools.features",
    "kafka-get-offsets": "kafkalike.cli.tools.get_offsets",
    "kafka-leader-election": "kafkalike.cli.tools.leader_election",
    "kafka-log-dirs": "kafkalike.cli.tools.log_dirs",
    "kafka-preferred-replica-election": "kafkalike.cli.tools.preferred_replica_election",
    "kafka-producer-perf-test": "kafkalike.cli.tools.producer_perf_test",
    "kafka-reassign-partitions": "kafkalike.cli.tools.reassign_partitions",
    "kafka-replica-verification": "kafkalike.cli.tools.replica_verification",
    "kafka-server-start": "kafkalike.cli.tools.server_start",
    "kafka-server-stop": "kafkalike.cli.tools.server_stop",
    "kafka-topics": "kafkalike.cli.tools.topics",
    "kafka-transactions": "kafkalike.cli.tools.transactions",
    "kafka-verifiable-consumer": "kafkalike.cli.tools.verifiable_consumer",
    "kafka-verifiable-producer": "kafkalike.cli.tools.verifiable_producer",
    "zookeeper-server-start": "kafkalike.cli.tools.zookeeper_server_start",
    "zookeeper-server-stop": "kafkalike.cli.tools.zookeeper_server_stop",
    "zookeeper-shell": "kafkalike.cli.tools.zookeeper_shell",
}
