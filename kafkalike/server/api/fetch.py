"""Fetch (1): read record batches from partitions, waiting for them if the client likes.

v1 throttle time · v2 magic 1 · v3 max bytes · v4 isolation level, magic 2 · v5 log start offset
v7 sessions (KIP-227) · v9 current leader epoch · v10 zstd · v11 rack
v12 flexible, diverging epoch
"""

from functools import partial

from kafkalike.log.fetch_data_info import FetchIsolation
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from kafkalike.replication.fetch_params import FetchParams, PartitionRead
from kafkalike.replication.fetch_session import Answers, FetchContext
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.fetch_conversion import LAST_VERSION_TO_CONVERT, convert
from kafkalike.server.api.registry import api
from kafkalike.server.authorization.fetch_guard import split
from kafkalike.server.forwarding.fetch import ForwardedFetch, leaders_elsewhere

_LAST_VERSION_WITH_HARD_LIMIT = 2
_LAST_VERSION_WITHOUT_STORAGE_ERROR = 5
_FIRST_VERSION_WITH_RACK = 11
_READ_COMMITTED = 1
_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


@api(ApiKey.FETCH, versions="0-12")
async def handle(context: RequestContext, request: FetchRequest) -> FetchResponse:
    """Read, perhaps later, and answer what the session does not know yet."""
    is_follower = request.replica_id >= 0
    try:
        fetch = _fetch_context(context, request, is_follower=is_follower)
        requested = list(fetch.partitions())
        denied: Answers = []
        if context.authorization is not None:
            requested, refused = split(context.authorization, requested, is_follower=is_follower)
            denied = [(tp, _refused(tp, _DENIED)) for tp in refused]
        params = _params(context, request)
        reads = await context.broker.replica_manager.fetch_messages(params, requested)
        leaders = leaders_elsewhere(context, request, reads)
        throttle_time_ms = 0
        if leaders:
            forwarded = ForwardedFetch(context, request, params, requested, leaders)
            found = await forwarded.run(partial(_answer, context))
            throttle_time_ms = forwarded.throttle_time_ms
        else:
            found = [(read.tp, _answer(context, read)) for read in reads]
        if context.throttle is not None and not is_follower:
            wait_ms = context.throttle.fetch_wait_ms(context, found)
            if wait_ms > 0:  # what was read must not be sent: the client asks again
                return FetchResponse(throttle_time_ms=wait_ms, session_id=fetch.session_id)
        answers = fetch.select([*found, *denied] if denied else found)
    except KafkaError as error:  # of the session; those of partitions are in their answers
        return FetchResponse(error_code=error.code, session_id=request.session_id)
    if context.api_version <= LAST_VERSION_TO_CONVERT:
        offsets = {tp: partition.fetch_offset for tp, partition in requested}
        for tp, answer in answers:
            if tp in offsets and tp not in leaders:  # who leads it converted it
                convert(context, tp, answer, offsets[tp], is_follower=is_follower)
    return FetchResponse(
        throttle_time_ms=throttle_time_ms,
        session_id=fetch.session_id,
        responses=_by_topic(answers),
    )


def _fetch_context(
    context: RequestContext, request: FetchRequest, *, is_follower: bool
) -> FetchContext:
    partitions: dict[TopicPartition, FetchPartition] = {
        TopicPartition(topic.topic, partition.partition): partition
        for topic in request.topics
        for partition in topic.partitions
    }
    forgotten = [
        TopicPartition(topic.topic, partition)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    ]
    return context.broker.fetch_sessions.new_context(
        request.session_id,
        request.session_epoch,
        partitions,
        forgotten,
        context.broker.time.now_ms(),
        is_follower=is_follower,
    )


def _params(context: RequestContext, request: FetchRequest) -> FetchParams:
    if request.replica_id >= 0:
        isolation = FetchIsolation.LOG_END
    elif request.isolation_level == _READ_COMMITTED:
        isolation = FetchIsolation.TXN_COMMITTED
    else:
        isolation = FetchIsolation.HIGH_WATERMARK
    max_bytes = min(request.max_bytes, context.broker.config.fetch_max_bytes)
    if context.throttle is not None and request.replica_id < 0:
        max_bytes = min(max_bytes, context.throttle.max_fetch_bytes(context))
    return FetchParams(
        request.replica_id,
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        isolation,
        is_hard_limit=context.api_version <= _LAST_VERSION_WITH_HARD_LIMIT,
        client_rack=_client_rack(context, request),
    )


def _client_rack(context: RequestContext, request: FetchRequest) -> str | None:
    """Return the client's rack if it may be sent to another replica than the leader."""
    is_choice = context.broker.config.replica_selector_class is not None
    if request.replica_id >= 0 or context.api_version < _FIRST_VERSION_WITH_RACK or not is_choice:
        return None
    if context.is_gateway:  # its client knows one node only
        return None
    return request.rack_id


def _answer(context: RequestContext, read: PartitionRead) -> FetchablePartitionResponse:
    result = read.result
    if result is None:
        assert read.error is not None, "a read gives records or an error"
        code = read.error.code
        if (
            code is ErrorCode.KAFKA_STORAGE_ERROR
            and context.api_version <= _LAST_VERSION_WITHOUT_STORAGE_ERROR
        ):
            # Old clients take an unknown code for final; with this one they look elsewhere.
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _refused(read.tp, code)
    answer = FetchablePartitionResponse(
        partition=read.tp.partition,
        high_watermark=result.high_watermark,
        last_stable_offset=result.last_stable_offset,
        log_start_offset=result.log_start_offset,
        aborted_transactions=None,
        preferred_read_replica=read.preferred_read_replica,
        record_set=result.data.records,
    )
    aborted = result.data.aborted_transactions
    if aborted is not None:
        answer.aborted_transactions = [
            AbortedTransaction(producer_id=txn.producer_id, first_offset=txn.first_offset)
            for txn in aborted
        ]
    if result.diverging_epoch is not None:
        answer.diverging_epoch = EpochEndOffset(
            epoch=result.diverging_epoch.leader_epoch, end_offset=result.diverging_epoch.offset
        )
    return answer


def _refused(tp: TopicPartition, code: ErrorCode) -> FetchablePartitionResponse:
    return FetchablePartitionResponse(
        partition=tp.partition,
        error_code=code,
        high_watermark=-1,
        aborted_transactions=None,
        record_set=b"",
    )


def _by_topic(answers: Answers) -> list[FetchableTopicResponse]:
    """Group neighbours: the order of partitions is the client's and says who waited longest."""
    topics: list[FetchableTopicResponse] = []
    for tp, answer in answers:
        if not topics or topics[-1].topic != tp.topic:
            topics.append(FetchableTopicResponse(topic=tp.topic, partition_responses=[]))
        topics[-1].partition_responses.append(answer)
    return topics
