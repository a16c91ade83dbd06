"""Produce (0): append record batches to the partitions that this broker leads.

v1 throttle time · v2 log append time, magic 1 · v3 transactional id, magic 2 only
v5 log start offset · v7 zstd · v8 errors of single records (KIP-467) · v9 flexible
"""

from kafkalike.log.record_checks import RecordValidationError, check_produce_records
from kafkalike.model.topic import is_internal
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import (
    InvalidTopicError,
    KafkaError,
    TransactionalIdAuthorizationError,
)
from kafkalike.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkalike.protocol.records.record_batch import is_transactional_batch
from kafkalike.replication.delayed_produce import ProduceStatus
from kafkalike.server.api.context import CloseConnection, RequestContext
from kafkalike.server.api.registry import api

_NO_RECORDS = memoryview(b"")
# Kafka's own coordinators write these topics; of all clients its admin tool alone may.
_ADMIN_CLIENT_ID = "__admin_client"


@api(ApiKey.PRODUCE, versions="0-9")
async def handle(context: RequestContext, request: ProduceRequest) -> ProduceResponse | None:
    """Append, and answer per partition; with acks=0 only a closed connection tells of errors."""
    entries: list[tuple[TopicPartition, memoryview]] = []
    refused: list[ProduceStatus] = []
    is_nobodys_transaction = request.transactional_id is None and _has_transactions(request)
    for topic in request.topic_data:
        for partition in topic.partition_data:
            tp = TopicPartition(topic.name, partition.index)
            records = _NO_RECORDS if partition.records is None else partition.records
            error = (
                TransactionalIdAuthorizationError()
                if is_nobodys_transaction
                else _refusal(context, tp, records)
            )
            if error is None:
                entries.append((tp, records))
            else:
                refused.append(ProduceStatus(tp, None, error))
    statuses = await context.broker.replica_manager.append_records(
        entries, request.acks, request.timeout_ms
    )
    statuses += refused
    if request.acks == 0:
        _close_on_error(statuses)
        return None
    return ProduceResponse(responses=_topics(request, statuses))


def _has_transactions(request: ProduceRequest) -> bool:
    return any(
        partition.records is not None and is_transactional_batch(partition.records)
        for topic in request.topic_data
        for partition in topic.partition_data
    )


def _refusal(context: RequestContext, tp: TopicPartition, records: memoryview) -> KafkaError | None:
    if is_internal(tp.topic) and context.client_id != _ADMIN_CLIENT_ID:
        return InvalidTopicError(f"Cannot append to internal topic {tp.topic}")
    try:
        check_produce_records(context.api_version, records)
    except KafkaError as error:
        return error
    return None


def _close_on_error(statuses: list[ProduceStatus]) -> None:
    errors = [f"{status.tp}: {status.error}" for status in statuses if status.error is not None]
    if errors:
        raise CloseConnection(f"a produce with acks=0 failed, {errors[0]}")


def _topics(request: ProduceRequest, statuses: list[ProduceStatus]) -> list[TopicProduceResponse]:
    by_topic: dict[str, list[PartitionProduceResponse]] = {
        topic.name: [] for topic in request.topic_data
    }
    for status in statuses:
        by_topic[status.tp.topic].append(_partition(status))
    return [
        TopicProduceResponse(name=name, partition_responses=partitions)
        for name, partitions in by_topic.items()
    ]


def _partition(status: ProduceStatus) -> PartitionProduceResponse:
    info, error = status.info, status.error
    if error is None:
        assert info is not None, "appended without an error"
        return PartitionProduceResponse(
            index=status.tp.partition,
            base_offset=info.first_offset,
            log_append_time_ms=info.log_append_time,
            log_start_offset=info.log_start_offset,
        )
    response = PartitionProduceResponse(
        index=status.tp.partition,
        error_code=error.code,
        base_offset=-1,
    )
    if isinstance(error, RecordValidationError):
        # Of all errors Kafka has words only for those of single records.
        response.error_message = error.message
        response.record_errors = [
            BatchIndexAndErrorMessage(
                batch_index=record.batch_index, batch_index_error_message=record.message
            )
            for record in error.record_errors
        ]
    return response
