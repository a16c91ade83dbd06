"""The batches and records inside a `records` field, opened for reading only."""

import base64
from typing import Any

from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.records.record_batch import BatchHeader, compute_crc, iter_batches
from kafkalike.protocol.records.record_reader import iter_records


def records_to_json(data: memoryview) -> dict[str, Any]:
    """Return the batches of a `records` field; an incomplete one at the end is only counted."""
    batches, end = [], 0
    try:
        for position, header in iter_batches(data):
            batches.append(_batch(data, position, header))
            end = position + header.size_in_bytes
    except KafkaError as error:
        return {"batches": batches, "corrupt": f"at byte {end}: {error}"}
    return {"batches": batches} | ({"cutOffBytes": len(data) - end} if end < len(data) else {})


def _batch(data: memoryview, position: int, header: BatchHeader) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "magic": header.magic,
        "isCrcValid": compute_crc(data, position, header) == header.crc,
        "compression": header.compression_type.name.lower(),
        "timestampType": header.timestamp_type.name,
        "partitionLeaderEpoch": header.partition_leader_epoch,
        "producerId": header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
    }
    shown["records"] = [
        {
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": _text(record.key),
            "value": _text(record.value),
            "headers": [{"key": name, "value": _text(value)} for name, value in record.headers],
        }
        for record in iter_records(data, position, header)
    ]
    return shown


def _text(data: bytes | None) -> str | None:
    """Show bytes as text where they are text."""
    if data is None:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    is_readable = text.isprintable() and not text.startswith("b64:")
    return (
        text
        if is_readable and bool(text) == bool(data)
        else f"b64:{base64.b64encode(data).decode()}"
    )
