"""LeaderAndIsr (4): the controller says which partitions this broker leads and follows.

v1 new replicas · v2 broker epoch, by topic · v3 reassignment · v4 flexible
v5 topic ids, full or not
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from kafkalike.cluster.partition import PartitionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api

_FIRST_VERSION_WITH_TOPIC_IDS = 5


@api(ApiKey.LEADER_AND_ISR, versions="0-5")
async def handle(context: RequestContext, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
    """Let the replicas change, unless the news is old."""
    if context.broker.is_broker_epoch_stale(request.broker_epoch):
        return LeaderAndIsrResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    changes = context.broker.replica_state_changes
    if not changes.accept_controller_epoch(request.controller_id, request.controller_epoch):
        return LeaderAndIsrResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
    topic_ids = {topic.topic_name: topic.topic_id for topic in request.topic_states}
    states = [
        (TopicPartition(topic, state.partition_index), _state(state))
        for topic, state in _partition_states(request)
    ]
    errors = await changes.become_leader_or_follower(states, topic_ids)
    context.broker.log_dir_mover.resume()
    return _response(context.api_version, errors, topic_ids)


def _partition_states(
    request: LeaderAndIsrRequest,
) -> Iterator[tuple[str, LeaderAndIsrPartitionState]]:
    for state in request.ungrouped_partition_states:
        yield state.topic_name, state
    for topic in request.topic_states:
        for state in topic.partition_states:
            yield topic.topic_name, state


def _state(state: LeaderAndIsrPartitionState) -> PartitionState:
    return PartitionState(
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(state.isr),
        zk_version=state.zk_version,
        replicas=tuple(state.replicas),
        adding_replicas=tuple(state.adding_replicas),
        removing_replicas=tuple(state.removing_replicas),
        is_new=state.is_new,
    )


def _response(
    version: int, errors: Mapping[TopicPartition, ErrorCode], topic_ids: Mapping[str, bytes]
) -> LeaderAndIsrResponse:
    by_topic: dict[str, list[LeaderAndIsrPartitionError]] = defaultdict(list)
    for tp, code in errors.items():
        by_topic[tp.topic].append(
            LeaderAndIsrPartitionError(
                topic_name=tp.topic, partition_index=tp.partition, error_code=code
            )
        )
    if version < _FIRST_VERSION_WITH_TOPIC_IDS:
        return LeaderAndIsrResponse(
            partition_errors=[error for topic in by_topic.values() for error in topic]
        )
    return LeaderAndIsrResponse(
        topics=[
            LeaderAndIsrTopicError(
                topic_id=topic_ids.get(topic, ZERO_UUID), partition_errors=partition_errors
            )
            for topic, partition_errors in by_topic.items()
        ]
    )
