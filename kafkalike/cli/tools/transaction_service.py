"""What `kafka-transactions` finds out, from brokers and from `__transaction_state`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkalike.cli.tools.support.client import client_arguments, client_settings, with_admin
from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.cli.tools.support.java_names import check
from kafkalike.cli.tools.support.listing import show
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.topic_records import records_of
from kafkalike.client import KafkaConsumer
from kafkalike.client.admin.admin_base import as_dict
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.consumer.consumer_config import ConsumerConfig
from kafkalike.model.topic import TRANSACTION_STATE_TOPIC
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import (
    decode_transaction_log_key,
    decode_transaction_log_value,
)
from kafkalike.protocol.messages.coordinator_records import TransactionLogValue
from kafkalike.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest

_STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)

Row = dict[str, Any]


def run_command(parsed: Parsed, command: str) -> None:
    """Run a command and print its table."""
    if command == "describe-producers":
        rows = with_admin(client_settings(parsed), lambda admin: _producers(admin, parsed))
    elif command == "list":
        rows = [_brief(row) for row in _transactions(parsed)]
    else:
        wanted = parsed.value("transactional-id")
        rows = [row for row in _transactions(parsed) if row["TransactionalId"] == wanted]
        if not rows:
            raise ToolFailure(
                f"Could not describe transactional id '{wanted}': there is none of this name"
            )
    show(parsed, rows, lambda: pretty_table(rows))


async def _producers(admin: Admin, parsed: Parsed) -> list[Row]:
    tp = TopicPartition(parsed.value("topic"), parsed.value("partition"))
    broker_id = parsed.value("broker-id")
    if broker_id is None:
        found = (await admin.describe_producers([tp]))[tp]
    else:
        request = DescribeProducersRequest(
            topics=[TopicRequest(name=tp.topic, partition_indexes=[tp.partition])]
        )
        answer = await admin.ask_broker(broker_id, request)
        (part,) = answer.topics[0].partitions
        check(part.error_code, part.error_message)
        found = [as_dict(producer) for producer in part.active_producers]
    return [producer_row(producer) for producer in found]


def producer_row(producer: Mapping[str, Any]) -> Row:
    """Return one producer under the heads of Kafka's table."""
    start = producer["current_txn_start_offset"]
    return {
        "ProducerId": producer["producer_id"],
        "ProducerEpoch": producer["producer_epoch"],
        "LatestCoordinatorEpoch": producer["coordinator_epoch"],
        "LastSequence": producer["last_sequence"],
        "LastTimestamp": producer["last_timestamp"],
        "CurrentTransactionStartOffset": None if start < 0 else start,
    }


def _transactions(parsed: Parsed) -> list[Row]:
    """Read the whole of `__transaction_state`: the last value of each transactional id."""
    values: dict[str, tuple[int, TransactionLogValue]] = {}
    arguments = client_arguments(ConsumerConfig, client_settings(parsed))
    with KafkaConsumer(**arguments, enable_auto_commit=False) as consumer:
        numbers = consumer.partitions_for_topic(TRANSACTION_STATE_TOPIC) or set()
        partitions = [TopicPartition(TRANSACTION_STATE_TOPIC, p) for p in sorted(numbers)]
        for record in records_of(consumer, partitions):
            transactional_id = decode_transaction_log_key(record.key).transactional_id
            values.pop(transactional_id, None)
            if record.value is not None:
                value = decode_transaction_log_value(record.value)
                values[transactional_id] = record.partition, value
    leaders = with_admin(client_settings(parsed), _coordinators)
    return [transaction_row(name, leaders.get(p), v) for name, (p, v) in sorted(values.items())]


async def _coordinators(admin: Admin) -> dict[int, int]:
    (topic,) = await admin.describe_topics([TRANSACTION_STATE_TOPIC])
    return {p["partition_index"]: p["leader_id"] for p in topic["partitions"]}


def transaction_row(name: str, coordinator: int | None, value: TransactionLogValue) -> Row:
    """Return one transactional id under the heads of Kafka's table."""
    partitions = [
        f"{part.topic}-{number}"
        for part in value.transaction_partitions or ()
        for number in part.partition_ids
    ]
    start = value.transaction_start_timestamp_ms
    return {
        "CoordinatorId": coordinator,
        "TransactionalId": name,
        "ProducerId": value.producer_id,
        "ProducerEpoch": value.producer_epoch,
        "TransactionState": _STATES[value.transaction_status],
        "TransactionTimeoutMs": value.transaction_timeout_ms,
        "CurrentTransactionStartTimeMs": start if start >= 0 and partitions else None,
        "TopicPartitions": ",".join(partitions),
    }


def _brief(row: Row) -> Row:
    return {
        "TransactionalId": row["TransactionalId"],
        "Coordinator": row["CoordinatorId"],
        "ProducerId": row["ProducerId"],
        "TransactionState": row["TransactionState"],
    }


def pretty_table(rows: Sequence[Row]) -> list[str]:
    """Lay out rows as the tool of Kafka 3.0 does: padded columns with tabs between."""
    heads = list(rows[0]) if rows else []
    lines = [heads, *([_cell(row[head]) for head in heads] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(heads))]
    return [
        "".join(f"{cell:<{width}}\t" for cell, width in zip(line, widths, strict=True))
        for line in lines
        if line
    ]


def _cell(value: Any) -> str:
    return "None" if value is None else str(value)
