"""The logs that fetchers write to."""

from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication.replica_manager import ReplicaManager


class LocalFollowerLogs:
    """`FollowerLogs` of this broker: truncations go through the log manager, which notes them."""

    def __init__(self, replica_manager: ReplicaManager, log_manager: LogManager) -> None:
        self._replica_manager = replica_manager
        self._log_manager = log_manager

    def get_log(self, tp: TopicPartition) -> Log | None:
        """The log of a partition that is here and online."""
        return self._replica_manager.get_log(tp)

    def truncate_to(self, tp: TopicPartition, offset: int) -> None:
        """Cut a log."""
        self._log_manager.truncate_to({tp: offset})

    def truncate_fully_and_start_at(self, tp: TopicPartition, offset: int) -> None:
        """Empty a log."""
        self._log_manager.truncate_fully_and_start_at(tp, offset)

    def replicated(self, tp: TopicPartition) -> None:
        """Let readers of this replica look again."""
        self._replica_manager.complete_delayed(tp)
