"""A site's own look at records: refused ones are named, and take their batch with them."""

from typing import Any

import pytest

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.errors import ConfigError
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.protocol.records.record import Record
from kafkalike.server.api.context import CloseConnection
from kafkalike.server.record_interceptor import intercept, record_interceptor
from tests.support import wire
from tests.support.admin_broker import PROPERTIES
from tests.support.guarded import a_request, a_response
from tests.support.run import run


class NoSwearing:
    """Lets everything pass but one word."""

    def on_record(self, topic: str, partition: int, record: Record) -> str | None:
        return "no swearing" if record.value == b"damn" else None


class Written:
    """A log that takes everything."""

    def __init__(self) -> None:
        self.topics: list[str] = []

    async def __call__(self, request: Any) -> Any:
        self.topics += [topic.name for topic in request.topic_data]
        if request.acks == 0:
            return None
        return a_response(
            ApiKey.PRODUCE,
            responses=[
                {"name": topic.name, "partition_responses": [{"index": 0, "base_offset": 5}]}
                for topic in request.topic_data
            ],
        )


def a_produce(acks: int = 1, **topics: bytes | None) -> Any:
    return a_request(
        ApiKey.PRODUCE,
        acks=acks,
        topic_data=[
            {"name": name, "partition_data": [{"index": 0, "records": records}]}
            for name, records in topics.items()
        ],
    )


def ask(request: Any, written: Written) -> dict[str, Any]:
    answer: Any = run(intercept(NoSwearing(), request, written))
    return {topic.name: topic.partition_responses[0] for topic in answer.responses}


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_refused_records_are_named_and_their_batch_is_not_written(codec: CompressionType) -> None:
    written = Written()
    bad = wire.batch(b"well", b"damn", b"so", b"damn", compression=codec)
    answers = ask(a_produce(bad=bad, good=wire.batch(b"well")), written)
    assert written.topics == ["good"]
    assert (answers["good"].error_code, answers["good"].base_offset) == (0, 5)
    refused = answers["bad"]
    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert [(one.batch_index, one.batch_index_error_message) for one in refused.record_errors] == [
        (1, "no swearing"),
        (3, "no swearing"),
    ]


def test_request_of_which_nothing_is_left_is_answered_here() -> None:
    written = Written()
    assert ask(a_produce(bad=wire.batch(b"damn")), written)["bad"].base_offset == -1
    assert written.topics == []


def test_produce_without_answer_hears_of_refused_records_by_a_closed_connection() -> None:
    written = Written()
    request = a_produce(0, bad=wire.batch(b"damn"), good=wire.batch(b"well"))
    with pytest.raises(CloseConnection):
        ask(request, written)
    assert written.topics == ["good"]


def test_broken_records_are_left_to_the_log() -> None:
    written = Written()
    cut = wire.batch(b"well", compression=CompressionType.GZIP)[:-3]
    ask(a_produce(bad=cut, none=None), written)
    assert written.topics == ["bad", "none"]


def test_interceptor_is_a_class_by_name() -> None:
    name = f"{__name__}.{NoSwearing.__name__}"
    config = BrokerConfig.from_properties(PROPERTIES | {"record.interceptor.class.name": name})
    assert type(record_interceptor(config)).__name__ == "NoSwearing"
    assert record_interceptor(BrokerConfig.from_properties(PROPERTIES)) is None
    wrong = BrokerConfig.from_properties(
        PROPERTIES | {"record.interceptor.class.name": "collections.Counter"}
    )
    with pytest.raises(ConfigError, match="no method on_record"):
        record_interceptor(wrong)
