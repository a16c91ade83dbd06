"""`/isr_change_notification` and `/log_dir_event_notification`: brokers tell the controller.

Notifications are named by their numbers, as ZooKeeper gave them: `0000000042`.
"""

from collections.abc import Iterable

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.ops import DeleteOp
from kafkalike.zk.znodes import IsrChangeZNode, LogDirEvent, LogDirEventZNode


class NotificationsClient(TreeClient):
    """Written by leaders and by brokers that lost a log directory, cleared by the controller."""

    async def propagate_isr_changes(self, partitions: Iterable[TopicPartition]) -> None:
        """Tell the controller whose ISR this leader changed."""
        await self.create_sequential_persistent_path(
            IsrChangeZNode.CREATE_PATH, IsrChangeZNode.encode(partitions)
        )

    async def get_all_isr_change_notifications(self) -> list[str]:
        """List the numbers of the ISR change notifications."""
        names = await self.get_children(IsrChangeZNode.ROOT)
        return sorted(map(IsrChangeZNode.sequence_number, names))

    async def get_partitions_from_isr_change_notifications(
        self, sequence_numbers: Iterable[str]
    ) -> list[TopicPartition]:
        """Read whose ISR changed."""
        found = await self._get_all(map(IsrChangeZNode.path, sequence_numbers))
        return [tp for result in found if result for tp in IsrChangeZNode.decode(result[0])]

    async def delete_isr_change_notifications(
        self,
        expected_controller_epoch_zk_version: int,
        sequence_numbers: Iterable[str] | None = None,
    ) -> None:
        """Delete these notifications, or all."""
        if sequence_numbers is None:
            sequence_numbers = await self.get_all_isr_change_notifications()
        ops = [DeleteOp(IsrChangeZNode.path(number)) for number in sequence_numbers]
        await self._write_all(ops, expected_controller_epoch_zk_version)

    async def propagate_log_dir_event(self, broker_id: int) -> None:
        """Tell the controller that this broker lost a log directory."""
        await self.create_sequential_persistent_path(
            LogDirEventZNode.CREATE_PATH, LogDirEventZNode.encode(LogDirEvent(broker_id))
        )

    async def get_all_log_dir_event_notifications(self) -> list[str]:
        """List the numbers of the log dir event notifications."""
        names = await self.get_children(LogDirEventZNode.ROOT)
        return sorted(map(LogDirEventZNode.sequence_number, names))

    async def get_broker_ids_from_log_dir_events(
        self, sequence_numbers: Iterable[str]
    ) -> list[int]:
        """Read which brokers lost a log directory."""
        found = await self._get_all(map(LogDirEventZNode.path, sequence_numbers))
        return [LogDirEventZNode.decode(result[0]).broker_id for result in found if result]

    async def delete_log_dir_event_notifications(
        self,
        expected_controller_epoch_zk_version: int,
        sequence_numbers: Iterable[str] | None = None,
    ) -> None:
        """Delete these notifications, or all."""
        if sequence_numbers is None:
            sequence_numbers = await self.get_all_log_dir_event_notifications()
        ops = [DeleteOp(LogDirEventZNode.path(number)) for number in sequence_numbers]
        await self._write_all(ops, expected_controller_epoch_zk_version)
