"""A site's own look at every record before it is written (`record.interceptor.class.name`).

The class has `on_record(topic, partition, record)`, which returns None or says why the record is
refused. One refused record refuses its batch, and the producer hears which records it were
(KIP-467). Records are looked at once, by the broker that their producer talks to.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkalike.protocol.records.record import Record
from kafkalike.protocol.records.record_reader import iter_all_records
from kafkalike.protocol.schema import Message
from kafkalike.server.api.context import CloseConnection
from kafkalike.server.forwarding.layout import PRODUCE
from kafkalike.server.plugins import configured

_REFUSED: Final = 0
_MESSAGE: Final = "One or more records have been rejected"


class RecordInterceptor(Protocol):
    """Decides about records."""

    def on_record(self, topic: str, partition: int, record: Record) -> str | None:
        """Return None to let a record pass, or the reason why it is refused."""


def record_interceptor(config: BrokerConfig) -> RecordInterceptor | None:
    """Build the interceptor of `record.interceptor.class.name`, if there is one."""
    interceptor: RecordInterceptor | None = configured(
        config, "record.interceptor.class.name", "on_record"
    )
    return interceptor


async def intercept(
    interceptor: RecordInterceptor,
    request: ProduceRequest,
    proceed: Callable[[Any], Awaitable[Any]],
) -> Message | None:
    """Have the partitions written whose records all pass, and refuse the others."""
    refused = _refused(interceptor, request)
    if not refused:
        passed: Message | None = await proceed(request)
        return passed
    parts = PRODUCE.split(request, lambda tp: _REFUSED if tp in refused else None)
    answers: list[Message] = [_answer(tp, errors) for tp, errors in refused.items()]
    if None in parts:
        answer = await proceed(parts[None])
        if answer is not None:
            answers.append(answer)
    if request.acks == 0:
        raise CloseConnection(f"a produce with acks=0 had records refused: {next(iter(refused))}")
    return PRODUCE.merge(request, answers)


Errors = list[BatchIndexAndErrorMessage]


def _refused(
    interceptor: RecordInterceptor, request: ProduceRequest
) -> dict[TopicPartition, Errors]:
    refused = {}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            tp = TopicPartition(topic.name, partition.index)
            if partition.records and (errors := _errors(interceptor, tp, partition.records)):
                refused[tp] = errors
    return refused


def _errors(interceptor: RecordInterceptor, tp: TopicPartition, records: Any) -> Errors:
    errors = []
    try:
        for index, record in enumerate(iter_all_records(records)):
            reason = interceptor.on_record(tp.topic, tp.partition, record)
            if reason is not None:
                errors.append(
                    BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=reason)
                )
    except KafkaError:
        return []  # broken records are refused by the log, in its own words
    return errors


def _answer(tp: TopicPartition, errors: Errors) -> Message:
    response = PartitionProduceResponse(
        index=tp.partition,
        error_code=ErrorCode.INVALID_RECORD,
        base_offset=-1,
        record_errors=errors,
        error_message=_MESSAGE,
    )
    return ProduceResponse(
        responses=[TopicProduceResponse(name=tp.topic, partition_responses=[response])]
    )
