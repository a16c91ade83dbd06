"""`/brokers/topics/<topic>/partitions/<n>/state`: leader, epoch and ISR of each partition."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.tree import TreeClient
from kafkalike.zk.errors import BadVersionError, ZkError
from kafkalike.zk.ops import SetDataOp, Stat
from kafkalike.zk.znodes import TopicPartitionStateZNode, TopicPartitionsZNode, TopicPartitionZNode


class UpdateLeaderAndIsrResult(NamedTuple):
    """What became of each partition's new state.

    `finished`: written (with the new zk version), or failed with this error. `to_retry`: the
    partition was changed in between: read it again and decide again.
    """

    finished: dict[TopicPartition, LeaderAndIsr | ZkError]
    to_retry: tuple[TopicPartition, ...]


class PartitionsClient(TreeClient):
    """The states of partitions, as the controller decides and leaders change them."""

    async def get_topic_partition_states(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LeaderIsrAndControllerEpoch]:
        """Read states; a partition that has none yet is left out."""
        asked = list(partitions)
        found = await self._get_all(map(TopicPartitionStateZNode.path, asked))
        return {
            tp: TopicPartitionStateZNode.decode(
                result[0], result[1].version, TopicPartitionStateZNode.path(tp)
            )
            for tp, result in zip(asked, found, strict=True)
            if result is not None
        }

    async def get_topic_partition_state(
        self, tp: TopicPartition
    ) -> LeaderIsrAndControllerEpoch | None:
        """Read one state."""
        return (await self.get_topic_partition_states([tp])).get(tp)

    async def get_leader_for_partition(self, tp: TopicPartition) -> int | None:
        """Tell who leads a partition (-1: nobody)."""
        state = await self.get_topic_partition_state(tp)
        return state.leader_and_isr.leader if state else None

    async def get_in_sync_replicas_for_partition(
        self, tp: TopicPartition
    ) -> tuple[int, ...] | None:
        """Tell a partition's ISR."""
        state = await self.get_topic_partition_state(tp)
        return state.leader_and_isr.isr if state else None

    async def create_topic_partition_states_raw(
        self,
        states: Mapping[TopicPartition, LeaderIsrAndControllerEpoch],
        expected_controller_epoch_zk_version: int,
    ) -> dict[TopicPartition, ZkError | None]:
        """Create the znodes of new partitions; for each what went wrong, or None.

        Parents first, each level at once. Those that stand already (a former controller made
        them) are no error, as in Kafka.
        """
        topics = dict.fromkeys(tp.topic for tp in states)
        await self._create_all(
            map(TopicPartitionsZNode.path, topics), expected_controller_epoch_zk_version
        )
        await self._create_all(
            map(TopicPartitionZNode.path, states), expected_controller_epoch_zk_version
        )
        ops = [
            self._create_op(TopicPartitionStateZNode.path(tp), TopicPartitionStateZNode.encode(s))
            for tp, s in states.items()
        ]
        outcomes = await self._write_all(ops, expected_controller_epoch_zk_version)
        return {
            tp: outcome if isinstance(outcome, ZkError) else None
            for tp, outcome in zip(states, outcomes, strict=True)
        }

    async def update_leader_and_isr(
        self,
        leader_and_isrs: Mapping[TopicPartition, LeaderAndIsr],
        controller_epoch: int,
        expected_controller_epoch_zk_version: int,
    ) -> UpdateLeaderAndIsrResult:
        """Write new states, each if its znode is still at the state's zk version."""
        ops = [_set_op(tp, new, controller_epoch) for tp, new in leader_and_isrs.items()]
        outcomes = await self._write_all(ops, expected_controller_epoch_zk_version)
        finished: dict[TopicPartition, LeaderAndIsr | ZkError] = {}
        to_retry: list[TopicPartition] = []
        for (tp, new), outcome in zip(leader_and_isrs.items(), outcomes, strict=True):
            if isinstance(outcome, Stat):
                finished[tp] = new.with_zk_version(outcome.version)
            elif isinstance(outcome, BadVersionError):
                to_retry.append(tp)
            elif isinstance(outcome, ZkError):
                finished[tp] = outcome
        return UpdateLeaderAndIsrResult(finished, tuple(to_retry))

    async def conditional_update_isr(
        self, tp: TopicPartition, new: LeaderAndIsr, controller_epoch: int
    ) -> LeaderAndIsr | None:
        """As a leader, write an ISR if the znode is still at `new.zk_version`; None if it is not.

        (Kafka's `ReplicationUtils`; the way before AlterIsr.) `controller_epoch` is that of the
        controller that made this broker leader, perhaps not the current one's.
        """
        op = _set_op(tp, new, controller_epoch)
        version = await self.conditional_update_path(op.path, op.data, op.version)
        if version is None:
            # A first try may have gone through with only its answer lost.
            written = await self.get_topic_partition_state(tp)
            if written is None or written.controller_epoch != controller_epoch:
                return None
            version = written.leader_and_isr.zk_version
            if written.leader_and_isr != new.with_zk_version(version):
                return None
        return new.with_zk_version(version)

    async def _create_all(
        self, paths: Iterable[str], expected_controller_epoch_zk_version: int
    ) -> None:
        ops = [self._create_op(path) for path in paths]
        await self._write_all(ops, expected_controller_epoch_zk_version)


def _set_op(tp: TopicPartition, new: LeaderAndIsr, controller_epoch: int) -> SetDataOp:
    data = TopicPartitionStateZNode.encode(LeaderIsrAndControllerEpoch(new, controller_epoch))
    return SetDataOp(TopicPartitionStateZNode.path(tp), data, new.zk_version)
