"""What the broker does when a disk fails: its partitions go offline, the rest goes on (KIP-112)."""

from collections.abc import Callable
from pathlib import Path

from twisted.logger import Logger

from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication.replica_manager import ReplicaManager
from kafkalike.utils.background import Background
from kafkalike.zk.client import KafkaZkClient

log = Logger()


class LogDirFailureHandler:
    """Told by the log manager of a failed directory; its attributes are set before it can fail."""

    log_manager: LogManager
    take_offline: Callable[[TopicPartition], None]

    def __init__(
        self,
        broker_id: int,
        replica_manager: ReplicaManager,
        zk: KafkaZkClient,
        background: Background,
        on_fatal: Callable[[str], None],
    ) -> None:
        self._broker_id = broker_id
        self._replicas = replica_manager
        self._zk = zk
        self._background = background
        self._on_fatal = on_fatal

    def log_dir_failed(self, directory: Path) -> None:
        """Take the directory out of service, and tell the controller, who moves leaderships."""
        lost = [
            tp
            for tp, partition in self._replicas.partitions.items()
            if partition.log is not None and partition.log.parent_dir == directory
        ]
        for tp in lost:
            self.take_offline(tp)
        log.error(
            "log directory {dir} failed: {count} partitions are offline until it is mended and the "
            "broker restarted",
            dir=directory,
            count=len(lost),
        )
        self.log_manager.handle_log_dir_failure(directory)
        if not self.log_manager.live_log_dirs:
            self._on_fatal("all log directories (log.dirs) have failed")
            return
        self._background.start(
            self._zk.propagate_log_dir_event(self._broker_id), "log directory event"
        )
