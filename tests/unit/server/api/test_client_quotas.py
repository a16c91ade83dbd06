"""DescribeClientQuotas and AlterClientQuotas, at every version."""

import pytest

from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from kafkalike.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from tests.support.admin_broker import AdminBroker

Entity = dict[str, str | None]
EXACT, DEFAULT, ANY = range(3)


def entry(entity: Entity, **quotas: float | None) -> AlterClientQuotasRequestEntryData:
    return AlterClientQuotasRequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[
            OpData(key=key, value=value or 0.0, remove=value is None)
            for key, value in quotas.items()
        ],
    )


def alter(
    *entries: AlterClientQuotasRequestEntryData, validate_only: bool = False
) -> AlterClientQuotasRequest:
    return AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)


def describe(
    *components: tuple[str, int, str | None], strict: bool = False
) -> DescribeClientQuotasRequest:
    wanted = [ComponentData(entity_type=t, match_type=k, match=m) for t, k, m in components]
    return DescribeClientQuotasRequest(components=wanted, strict=strict)


def described(
    broker: AdminBroker,
    *components: tuple[str, int, str | None],
    strict: bool = False,
    version: int = 1,
) -> list[tuple[Entity, dict[str, float]]]:
    answer = broker.ask(describe(*components, strict=strict), version)
    assert answer.error_code == 0
    return [
        (
            {one.entity_type: one.entity_name for one in found.entity},
            {value.key: value.value for value in found.values},
        )
        for found in answer.entries
    ]


BYTES = {"producer_byte_rate": 1024.0}


@pytest.fixture
def broker() -> AdminBroker:
    return AdminBroker()


@pytest.mark.parametrize("version", range(2))
@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ({"user": "al"}, "users/al"),
        ({"user": None}, "users/<default>"),
        ({"client-id": "c"}, "clients/c"),
        ({"user": "al", "client-id": None}, "users/al/clients/<default>"),
        ({"user": "C=DE,O=x y"}, "users/C%3DDE%2CO%3Dx%20y"),
    ],
)
def test_quota_of_an_entity_is_set_described_and_removed(
    broker: AdminBroker, entity: Entity, path: str, version: int
) -> None:
    (answer,) = broker.ask(alter(entry(entity, **BYTES)), version).entries
    assert (answer.error_code, answer.error_message) == (0, None)
    node = broker.zookeeper.data(f"/config/{path}")
    assert node == b'{"version":1,"config":{"producer_byte_rate":"1024"}}'
    assert described(broker, version=version) == [(entity, BYTES)]
    broker.ask(alter(entry(entity, producer_byte_rate=None)), version)
    assert described(broker, version=version) == []


def test_connection_rate_belongs_to_addresses(broker: AdminBroker) -> None:
    answers = broker.ask(
        alter(
            entry({"ip": "10.0.0.1"}, connection_creation_rate=5.0),
            entry({"ip": None}, connection_creation_rate=2.0),
            entry({"ip": "10.0.0.1"}, producer_byte_rate=5.0),
            entry({"ip": "no-such-address"}, connection_creation_rate=5.0),
        )
    ).entries
    assert [a.error_code for a in answers] == [0, 0, *[ErrorCode.INVALID_REQUEST] * 2]
    assert described(broker, ("ip", ANY, None)) == [
        ({"ip": "10.0.0.1"}, {"connection_creation_rate": 5.0}),
        ({"ip": None}, {"connection_creation_rate": 2.0}),
    ]


def test_filter_finds_by_name_default_or_any_and_strictly(broker: AdminBroker) -> None:
    entities: list[Entity] = [{"user": "al"}, {"user": None}, {"user": "al", "client-id": "c"}]
    broker.ask(alter(*[entry(entity, **BYTES) for entity in entities]))

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> list[Entity]:
        return [entity for entity, _ in described(broker, *components, strict=strict)]

    assert found(("user", EXACT, "al")) == [entities[0], entities[2]]
    assert found(("user", EXACT, "al"), strict=True) == [entities[0]]
    assert found(("user", DEFAULT, None)) == [entities[1]]
    assert found(("user", ANY, None), ("client-id", ANY, None)) == [entities[2]]


def test_check_alone_writes_nothing(broker: AdminBroker) -> None:
    (answer,) = broker.ask(alter(entry({"user": "al"}, **BYTES), validate_only=True)).entries
    assert answer.error_code == 0
    assert described(broker) == []


@pytest.mark.parametrize(
    ("entity", "quotas", "message"),
    [
        ({}, BYTES, "Invalid empty client quota entity"),
        ({"colour": "red"}, BYTES, "Unhandled client quota entity type: colour"),
        ({"user": ""}, BYTES, "Empty user not supported"),
        ({"user": "al"}, {"speed": 1.0}, "Invalid configuration key speed"),
        (
            {"user": "al"},
            {"producer_byte_rate": 1.5},
            "Configuration producer_byte_rate must be a LONG value",
        ),
    ],
)
def test_quota_that_makes_no_sense_is_refused_in_kafkas_words(
    broker: AdminBroker, entity: Entity, quotas: dict[str, float], message: str
) -> None:
    (answer,) = broker.ask(alter(entry(entity, **quotas))).entries
    assert (answer.error_code, answer.error_message) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", EXACT, "x")], ErrorCode.INVALID_REQUEST),
        ([("colour", EXACT, "x")], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", EXACT, "x"), ("user", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("ip", ANY, None), ("user", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("user", 9, None)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_filter_that_makes_no_sense_is_refused(
    broker: AdminBroker, components: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    answer = broker.ask(describe(*components))
    assert (answer.error_code, answer.entries) == (code, None)
