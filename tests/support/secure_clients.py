"""The same small errand for every client library: write one record, and read it back.

What a library raises comes through; its text has what the broker said, but for kafka-python, which
tries again until its time is up.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import confluent_kafka
import kafka
from kafka.net.sasl.oauth import AbstractTokenProvider

from kafkalike import client as kafkalike_client
from tests.support.secure_site import BearerOf, Login, SecureSite

_TIMEOUT_S: Final = 30.0


def ours(site: SecureSite, login: Login, topic: str, **settings: Any) -> bytes | None:
    """Do the errand with `kafkalike.client`."""
    settings = {**site.python_settings(login), **settings}
    return _python(kafkalike_client, settings, topic)


def kafka_python(site: SecureSite, login: Login, topic: str, **settings: Any) -> bytes | None:
    """Do the errand with kafka-python."""
    settings = {**site.python_settings(login), "bootstrap_timeout_ms": 3000, **settings}
    if login.mechanism == "OAUTHBEARER":
        settings["sasl_oauth_token_provider"] = _KafkaPythonBearer(login.username)
    return _python(kafka, settings, topic)


class _KafkaPythonBearer(BearerOf, AbstractTokenProvider):  # type: ignore[misc]  # untyped
    pass


def _python(library: Any, settings: dict[str, Any], topic: str) -> bytes | None:
    producer = library.KafkaProducer(**settings, enable_idempotence=False)
    try:
        producer.send(topic, b"hello", partition=0).get(timeout=_TIMEOUT_S)
    finally:
        producer.close()
    consumer = library.KafkaConsumer(
        **settings, group_id=None, auto_offset_reset="earliest", consumer_timeout_ms=20_000
    )
    try:
        consumer.assign([library.TopicPartition(topic, 0)])
        for record in consumer:
            return bytes(record.value)
    finally:
        consumer.close()
    return None


def confluent(site: SecureSite, login: Login, topic: str, **settings: Any) -> bytes | None:
    """Do the errand with librdkafka."""
    settings = {**site.confluent_settings(login), **settings}
    failures: list[Any] = []
    causes: list[Any] = []

    def delivered(error: Any, _: Any) -> None:
        if error is not None:
            failures.append(error)

    producer = confluent_kafka.Producer(
        {**settings, "error_cb": causes.append, "message.timeout.ms": 3000}
    )
    producer.produce(topic, b"hello", partition=0, on_delivery=delivered)
    producer.flush(_TIMEOUT_S)
    if failures:
        # That nobody answers says less than why.
        raise confluent_kafka.KafkaException(causes[0] if causes else failures[0])
    consumer = confluent_kafka.Consumer({**settings, "group.id": f"{login.principal}-group"})
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + _TIMEOUT_S
        while time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is not None and message.error():
                raise confluent_kafka.KafkaException(message.error())
            if message is not None:
                value: bytes = message.value()
                return value
    finally:
        consumer.close()
    return None


Errand = Callable[..., bytes | None]
LIBRARIES: Final[dict[str, Errand]] = {
    "kafkalike": ours,
    "kafka-python": kafka_python,
    "confluent-kafka": confluent,
}
