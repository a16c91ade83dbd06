"""Raises a partition's leader epoch with leader and ISR unchanged (the assignment is another)."""

from kafkalike.controller.context import ControllerContext
from kafkalike.controller.states import StateChangeFailedError
from kafkalike.model.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.client.kafka_zk_client import KafkaZkClient


async def update_leader_epoch(
    zk: KafkaZkClient, context: ControllerContext, tp: TopicPartition
) -> LeaderIsrAndControllerEpoch:
    """Write the next epoch, again while a leader changes the ISR in between."""
    while True:
        state = await zk.get_topic_partition_state(tp)
        if state is None:
            raise StateChangeFailedError(f"{tp} has no leader and ISR in ZooKeeper")
        if state.controller_epoch > context.epoch:
            raise StateChangeFailedError(
                f"the state of {tp} was written by the controller of epoch "
                f"{state.controller_epoch}, ours is {context.epoch}"
            )
        new = {tp: state.leader_and_isr.new_epoch()}
        written = await zk.update_leader_and_isr(new, context.epoch, context.epoch_zk_version)
        outcome = written.finished.get(tp)
        if isinstance(outcome, LeaderAndIsr):
            updated = LeaderIsrAndControllerEpoch(outcome, context.epoch)
            context.leadership[tp] = updated
            return updated
        if outcome is not None:
            raise outcome
