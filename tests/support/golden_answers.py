"""Requests that real clients sent to Apache Kafka 2.8.2, each with Kafka's answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from kafkalike.protocol.api_keys import ApiKey, response_class
from kafkalike.protocol.header import parse_request_header, parse_response_header
from kafkalike.protocol.schema import Message

WIRE = Path(__file__).parents[1] / "golden/wire"
Request = TypeVar("Request", bound=Message)


# Any: the answer's class follows from the request's.
def golden_exchanges(request_class: type[Request]) -> Iterator[tuple[int, Request, Any]]:
    """Yield version, request and answer of every captured exchange of an API."""
    key = ApiKey(request_class.api_key)
    for path in sorted(WIRE.glob("*.jsonl")):
        request: Request | None = None
        for line in path.read_text().splitlines():
            frame = json.loads(line)
            if frame["api_key"] != key:
                continue
            data, version = bytes.fromhex(frame["hex"]), frame["version"]
            if frame["direction"] == "request":
                header = parse_request_header(data, 0, len(data))
                request = request_class.decode(data, version, header.body_start)
            elif request is not None:
                start = parse_response_header(data, key, version).body_start
                yield version, request, response_class(key).decode(data, version, start)
                request = None
