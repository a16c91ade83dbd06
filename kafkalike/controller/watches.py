"""What the controller watches in ZooKeeper while it is in office: each watch enqueues an event.

The handlers of Kafka's `KafkaController`; their paths are unregistered when it resigns.
"""

from collections.abc import Iterable
from functools import partial

from kafkalike.controller.events import (
    BrokerChange,
    BrokerModifications,
    ControllerChange,
    ControllerEvent,
    IsrChangeNotification,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    PutEvent,
    Reelect,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
    ZkPreferredReplicaElection,
)
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient
from kafkalike.zk.watches import ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkalike.zk.znodes import (
    BrokerIdsZNode,
    BrokerIdZNode,
    ControllerZNode,
    DeleteTopicsZNode,
    IsrChangeZNode,
    LogDirEventZNode,
    PreferredReplicaElectionZNode,
    ReassignPartitionsZNode,
    TopicPartitionStateZNode,
    TopicsZNode,
    TopicZNode,
)

_CHILD_EVENTS: dict[str, ControllerEvent] = {
    BrokerIdsZNode.PATH: BrokerChange(),
    TopicsZNode.PATH: TopicChange(),
    DeleteTopicsZNode.PATH: TopicDeletion(),
    LogDirEventZNode.ROOT: LogDirEventNotification(),
    IsrChangeZNode.ROOT: IsrChangeNotification(),
}


class ControllerWatches:
    """Registers handlers, and remembers which; a read of the path sets the watch itself."""

    def __init__(self, zk: KafkaZkClient, put_event: PutEvent) -> None:
        self._zk = zk
        self._put_event = put_event
        self._change_paths: set[str] = set()

    async def watch_controller(self) -> None:
        """Hear of elections; every broker does, all its life."""
        await self._zk.register_znode_change_handler_and_check_existence(
            ZNodeChangeHandler(
                path=ControllerZNode.PATH,
                on_creation=partial(self._put_event, ControllerChange()),
                on_deletion=partial(self._put_event, Reelect()),
                on_data_change=partial(self._put_event, ControllerChange()),
            )
        )

    def unwatch_controller(self) -> None:
        """Stop to hear of elections."""
        self._zk.unregister_znode_change_handler(ControllerZNode.PATH)

    async def watch_cluster(self) -> None:
        """Hear of brokers, topics, deletions, notifications and what is asked by `/admin`."""
        for path, event in _CHILD_EVENTS.items():
            on_change = partial(self._put_event, event)
            self._zk.register_znode_child_change_handler(
                ZNodeChildChangeHandler(path=path, on_child_change=on_change)
            )
        await self.watch_preferred_replica_election()
        await self.watch_partition_reassignment()

    async def watch_preferred_replica_election(self) -> bool:
        """Hear of a wish for elections; is there one now?"""
        return await self._watch_creation(
            PreferredReplicaElectionZNode.PATH, ZkPreferredReplicaElection()
        )

    async def watch_partition_reassignment(self) -> bool:
        """Hear of a wish for reassignments; is there one now?"""
        return await self._watch_creation(ReassignPartitionsZNode.PATH, ZkPartitionReassignment())

    async def watch_brokers(self, broker_ids: Iterable[int]) -> None:
        """Hear of changed registrations."""
        for broker_id in broker_ids:
            path = BrokerIdZNode.path(broker_id)
            handler = self._data_handler(path, BrokerModifications(broker_id))
            await self._zk.register_znode_change_handler_and_check_existence(handler)

    def unwatch_brokers(self, broker_ids: Iterable[int]) -> None:
        """Stop to hear of registrations that are gone."""
        for broker_id in broker_ids:
            self._forget(BrokerIdZNode.path(broker_id))

    def watch_topics(self, topics: Iterable[str]) -> None:
        """Hear of changed assignments, from the next read on."""
        for topic in topics:
            handler = self._data_handler(TopicZNode.path(topic), PartitionModifications(topic))
            self._zk.register_znode_change_handler(handler)

    def unwatch_topics(self, topics: Iterable[str]) -> None:
        """Stop to hear of topics that are gone or going."""
        for topic in topics:
            self._forget(TopicZNode.path(topic))

    def watch_isr(self, tp: TopicPartition) -> None:
        """Hear of a changed partition state, from the next read on."""
        path = TopicPartitionStateZNode.path(tp)
        handler = self._data_handler(path, PartitionReassignmentIsrChange(tp))
        self._zk.register_znode_change_handler(handler)

    def unwatch_isr(self, tp: TopicPartition) -> None:
        """Stop to hear of a partition's state."""
        self._forget(TopicPartitionStateZNode.path(tp))

    def unwatch_all(self) -> None:
        """Stop to hear of anything but elections."""
        for path in _CHILD_EVENTS:
            self._zk.unregister_znode_child_change_handler(path)
        for path in list(self._change_paths):
            self._forget(path)

    async def _watch_creation(self, path: str, event: ControllerEvent) -> bool:
        self._change_paths.add(path)
        handler = ZNodeChangeHandler(path=path, on_creation=partial(self._put_event, event))
        return await self._zk.register_znode_change_handler_and_check_existence(handler)

    def _data_handler(self, path: str, event: ControllerEvent) -> ZNodeChangeHandler:
        self._change_paths.add(path)
        return ZNodeChangeHandler(path=path, on_data_change=partial(self._put_event, event))

    def _forget(self, path: str) -> None:
        self._change_paths.discard(path)
        self._zk.unregister_znode_change_handler(path)
