"""The clients that conformance tests run, as parameters of tests."""

import functools

import pytest

from tests.support.clients.aiokafka import AiokafkaClient
from tests.support.clients.confluent import ConfluentClient
from tests.support.clients.java_console import JavaConsoleClient
from tests.support.clients.kafka_python import KafkaPythonClient
from tests.support.clients.kcat import KcatClient
from tests.support.clients.message import Client

_CLIENTS: tuple[Client, ...] = (
    ConfluentClient(),
    KafkaPythonClient(),
    AiokafkaClient(),
    KcatClient(),
    JavaConsoleClient(),
)
NAMES = tuple(client.name for client in _CLIENTS)


def client_or_skip(name: str) -> Client:
    """Return the client of that name; the test is skipped where it can't run."""
    (client,) = (client for client in _CLIENTS if client.name == name)
    if reason := _why_absent(name):
        pytest.skip(reason)
    return client


@functools.cache
def _why_absent(name: str) -> str:
    (client,) = (client for client in _CLIENTS if client.name == name)
    return client.why_absent()
