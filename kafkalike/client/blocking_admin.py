"""KafkaAdminClient: the blocking, thread-safe face of the admin client."""

from types import TracebackType
from typing import Any, Self

from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.blocking_calls import BlockingFace, waiting
from kafkalike.client.config import ClientConfig, make_config
from kafkalike.client.threads import reactor_thread


class KafkaAdminClient(BlockingFace):
    """Manages topics, configs, groups and more; settings as kafka-python's.

    with KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
        admin.create_topics([NewTopic("orders", num_partitions=6, replication_factor=3)])
    """

    def __init__(self, **configs: Any) -> None:
        self.config = make_config(ClientConfig, configs)
        self._thread = reactor_thread()
        self._inner = Admin(self._thread.reactor, self.config)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    create_topics = waiting(Admin.create_topics)
    delete_topics = waiting(Admin.delete_topics)
    list_topics = waiting(Admin.list_topics)
    describe_topics = waiting(Admin.describe_topics)
    wait_for_topics = waiting(Admin.wait_for_topics)
    create_partitions = waiting(Admin.create_partitions)
    delete_records = waiting(Admin.delete_records)

    elect_leaders = waiting(Admin.elect_leaders)
    perform_leader_election = elect_leaders
    alter_partition_reassignments = waiting(Admin.alter_partition_reassignments)
    list_partition_reassignments = waiting(Admin.list_partition_reassignments)
    list_partition_offsets = waiting(Admin.list_partition_offsets)
    list_offsets = list_partition_offsets
    describe_producers = waiting(Admin.describe_producers)
    describe_log_dirs = waiting(Admin.describe_log_dirs)
    alter_replica_log_dirs = waiting(Admin.alter_replica_log_dirs)

    describe_configs = waiting(Admin.describe_configs)
    alter_configs = waiting(Admin.alter_configs)
    incremental_alter_configs = waiting(Admin.incremental_alter_configs)
    reset_configs = waiting(Admin.reset_configs)

    list_groups = waiting(Admin.list_groups)
    list_consumer_groups = waiting(Admin.list_consumer_groups)
    describe_groups = waiting(Admin.describe_groups)
    describe_consumer_groups = waiting(Admin.describe_consumer_groups)
    delete_groups = waiting(Admin.delete_groups)
    delete_consumer_groups = delete_groups
    list_group_offsets = waiting(Admin.list_group_offsets)
    list_consumer_group_offsets = waiting(Admin.list_consumer_group_offsets)
    alter_group_offsets = waiting(Admin.alter_group_offsets)
    reset_group_offsets = waiting(Admin.reset_group_offsets)
    delete_group_offsets = waiting(Admin.delete_group_offsets)
    remove_group_members = waiting(Admin.remove_group_members)

    create_acls = waiting(Admin.create_acls)
    describe_acls = waiting(Admin.describe_acls)
    delete_acls = waiting(Admin.delete_acls)
    describe_user_scram_credentials = waiting(Admin.describe_user_scram_credentials)
    upsert_user_scram_credentials = waiting(Admin.upsert_user_scram_credentials)
    delete_user_scram_credentials = waiting(Admin.delete_user_scram_credentials)
    describe_client_quotas = waiting(Admin.describe_client_quotas)
    alter_client_quotas = waiting(Admin.alter_client_quotas)
    create_delegation_token = waiting(Admin.create_delegation_token)
    renew_delegation_token = waiting(Admin.renew_delegation_token)
    expire_delegation_token = waiting(Admin.expire_delegation_token)
    describe_delegation_token = waiting(Admin.describe_delegation_token)

    describe_cluster = waiting(Admin.describe_cluster)
    api_versions = waiting(Admin.api_versions)
    describe_features = waiting(Admin.describe_features)
    update_features = waiting(Admin.update_features)

    close = waiting(Admin.close)
