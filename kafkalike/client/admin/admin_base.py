"""What all subjects of the admin client need: who to ask, errors in answers, answers as dicts."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafkalike.client.kafka_client import GROUP, KafkaClient
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import uuid_to_string
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    LeaderNotAvailableError,
    NotControllerError,
    error_for,
)
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

_MOVED = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}


class AdminBase:
    """Sends admin requests to where they belong and tries again what may pass."""

    def __init__(self, client: KafkaClient) -> None:
        self.client = client

    @property
    def timeout_ms(self) -> int:
        """How long a broker may take for its part of the work."""
        return self.client.config.request_timeout_ms

    async def ask_any(self, request: Message) -> Any:
        """Ask whichever broker answers."""
        return await self.client.retrying(lambda: self.client.send_to_any(request))

    async def ask_broker(self, broker_id: int, request: Message) -> Any:
        """Ask one broker."""
        if broker_id not in self.client.metadata.snapshot.brokers:
            await self.client.metadata.refresh()
        return await self.client.retrying(lambda: self.client.send(broker_id, request))

    async def ask_controller(self, request: Message) -> Any:
        """Ask the controller, whoever it is by then."""

        async def ask() -> Any:
            answer = await self.client.send_to_controller(request)
            if ErrorCode.NOT_CONTROLLER in error_codes(answer):
                raise NotControllerError("the controller has moved")
            return answer

        return await self.client.retrying(ask)

    async def ask_coordinator(self, group_id: str, request: Message) -> Any:
        """Ask the coordinator of a group, whoever it is by then."""

        async def ask() -> Any:
            node = await self.client.find_coordinator(group_id, GROUP)
            answer = await self.client.send(node.id, request)
            for code in error_codes(answer):
                if code and error_for(code).retriable:
                    raise error_for(code)(f"group {group_id}: {error_for(code)()}")
            return answer

        return await self.client.retrying(ask)

    async def by_leader(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[int, list[TopicPartition]]:
        """Group partitions by the broker that leads them."""
        wanted = list(partitions)
        metadata = self.client.metadata

        async def find() -> dict[int, list[TopicPartition]]:
            found: dict[int, list[TopicPartition]] = {}
            metadata.add_topics(tp.topic for tp in wanted)
            snapshot = await metadata.refresh()
            for tp in wanted:
                leader = snapshot.leader(tp)
                if leader is None:
                    raise LeaderNotAvailableError(f"{tp} has no leader, or does not exist")
                found.setdefault(leader.id, []).append(tp)
            return found

        return await self.client.retrying(find)

    async def broker_ids(self) -> list[int]:
        """Return the ids of all brokers."""
        snapshot = await self.client.retrying(self.client.metadata.refresh)
        return sorted(snapshot.brokers)


def error_codes(answer: Any) -> list[int]:
    """Return the error codes of an answer, at any depth."""
    found: list[int] = []
    for field in answer.table.fields:
        value = getattr(answer, field.name)
        if field.name == "error_code":
            found.append(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, Struct):
                    found += error_codes(item)
    return found


def check(code: int, what: str, message: str | None = None) -> None:
    """Raise the error of a code, if it is one."""
    if code != ErrorCode.NONE:
        raise to_error(code, what, message)


def to_error(code: int, what: str, message: str | None = None) -> KafkaError:
    """Return the error of a code, with what it is about."""
    kind = error_for(code)
    error = kind(f"{what}: {message or kind()}")
    error.is_answer, error.reason = True, message
    return error


def as_dict(struct: Any) -> dict[str, Any]:
    """Return a struct of the protocol as plain dicts and lists, without the throttle time."""
    return {
        field.name: _plain(field.name, getattr(struct, field.name))
        for field in struct.table.fields
        if field.name != "throttle_time_ms"
    }


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, Struct):
        return as_dict(value)
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if name == "topic_id":
        return uuid_to_string(value)
    return bytes(value) if isinstance(value, memoryview) else value


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Group partitions by topic."""
    found: dict[str, list[int]] = {}
    for tp in partitions:
        found.setdefault(tp[0], []).append(tp[1])
    return found


def as_partitions(
    given: Mapping[str, Iterable[int]] | Iterable[TopicPartition],
) -> list[TopicPartition]:
    """Read `{topic: [partition]}` or a list of partitions."""
    if isinstance(given, Mapping):
        return [TopicPartition(topic, p) for topic, numbers in given.items() for p in numbers]
    return [TopicPartition(*tp) for tp in given]
