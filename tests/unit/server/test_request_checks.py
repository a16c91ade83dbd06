"""Requests on a broker with limits: guarded, counted, and made to wait."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.protocol.api_keys import ApiKey, request_class, response_class
from kafkalike.protocol.errors import ErrorCode, ThrottlingQuotaExceededError
from kafkalike.protocol.messages.fetch import FetchablePartitionResponse, FetchResponse
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalike.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkalike.protocol.messages.produce import ProduceRequest
from kafkalike.protocol.schema import Message
from kafkalike.quota.client_quotas import DEFAULT, QuotaEntity
from kafkalike.quota.quota_type import QuotaType
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.principal import KafkaPrincipal
from kafkalike.security.resource import CLUSTER_NAME, ResourceType
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import Api
from kafkalike.server.forwarding.mark import mark
from kafkalike.server.request_checks import RequestChecks
from kafkalike.server.throttle import Throttle
from kafkalike.utils.time import Time
from tests.support.admin_broker import PROPERTIES
from tests.support.guarded import FakeAuthorizer, Permission
from tests.support.run import start

ACTS_FOR_CLUSTER: Permission = (AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
JOINS: Permission = (AclOperation.READ, ResourceType.GROUP, "g")
HEARTBEAT = HeartbeatRequest(group_id="g")
EVERYBODY = QuotaEntity(None, DEFAULT)


class World:
    """Checks in front of APIs that wait for nothing, or for `answer()`."""

    def __init__(
        self,
        allowed: set[Permission] | None = None,
        quotas: Mapping[QuotaType, float] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.clock = Clock()
        self.clock.advance(1000)
        time = Time(self.clock)
        config = BrokerConfig.from_properties({**PROPERTIES, **(properties or {})})
        self.throttle = Throttle(config, time)
        if quotas:
            self.throttle.update(EVERYBODY, quotas)
        self.authorizer = None if allowed is None else FakeAuthorizer(allowed)
        self.checks = RequestChecks(self.authorizer, self.throttle, time)
        self.contexts: list[RequestContext] = []
        self.sent: list[Any] = []
        self.inter_broker = "PLAINTEXT"
        self.waiting: Deferred[None] | None = None

    # Any: each API has classes of its own.
    async def _handle(self, context: Any, request: Any) -> Any:
        self.contexts.append(context)
        if self.waiting is not None:
            await self.waiting
        return response_class(ApiKey(request.api_key))()

    def context(self, client_id: str = "app", version: int = 4) -> RequestContext:
        connection = SimpleNamespace(principal=KafkaPrincipal("User", "al"))
        inter_broker = SimpleNamespace(listener_name=self.inter_broker)
        broker = SimpleNamespace(
            config=SimpleNamespace(
                gateway_listeners=frozenset(), inter_broker_listener=inter_broker
            )
        )
        return RequestContext(
            cast(Any, broker), version, client_id, "PLAINTEXT", "h", cast(Any, connection)
        )

    def ask(
        self, request: Message, *, size: int = 100, client_id: str = "app"
    ) -> "Deferred[Message | None]":
        key = ApiKey(request.api_key)
        api = Api(key, key.versions, self._handle, request_class(key), response_class(key))
        context = self.context(client_id)
        # The routes of these APIs need a whole broker; these requests come from another one.
        return start(self.checks.handle(api, context, request, size, self.sent.append))


def outcome(deferred: "Deferred[Any]") -> list[Any]:
    found: list[Any] = []
    deferred.addCallback(found.append)
    return found


# --- who may


def test_nothing_is_checked_without_authorizer_and_quotas() -> None:
    world = World()
    assert not world.checks.is_active
    world.throttle.update(EVERYBODY, {QuotaType.PRODUCE: 1.0})
    assert world.checks.is_active
    assert World(set()).checks.is_active


def test_denied_request_does_not_reach_its_api() -> None:
    world = World(set())
    (answer,) = outcome(world.ask(HEARTBEAT))
    assert answer == HeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    assert world.contexts == []


def test_request_that_a_broker_sends_on_is_authorized_already() -> None:
    """M81: it was authorized as the client by the broker that the client asked."""
    world = World({ACTS_FOR_CLUSTER})
    request = LeaderAndIsrRequest()  # any API without a route will do
    outcome(world.ask(request, client_id=mark("app", 2)))
    assert world.contexts[0].authorization is None


def test_forged_mark_of_a_broker_opens_nothing() -> None:
    """M81: whoever bears the mark must be allowed to act for the cluster."""
    world = World({JOINS})
    request = HeartbeatRequest(group_id="other")
    (answer,) = outcome(world.ask(request, client_id=mark("app", 2)))
    assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_mark_of_a_broker_opens_nothing_on_a_listener_for_clients() -> None:
    """M81: also not to who may act for the cluster."""
    world = World({ACTS_FOR_CLUSTER})
    world.inter_broker = "INTERNAL"
    (answer,) = outcome(world.ask(HEARTBEAT, client_id=mark("app", 2)))
    assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


# --- how much


def a_produce(acks: int = 1) -> ProduceRequest:
    return ProduceRequest(acks=acks)


@pytest.fixture(autouse=True)
def _no_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkalike.server.request_checks.ROUTES", {})


def test_answer_comes_at_once_and_the_next_request_has_to_wait() -> None:
    """Throttle time in the answer, then a muted connection (KIP-219)."""
    world = World(quotas={QuotaType.PRODUCE: 100.0})
    answered = outcome(world.ask(a_produce(), size=2000))
    assert [answer.throttle_time_ms for answer in world.sent] == [10_000]
    world.clock.advance(9.9)
    assert answered == []
    world.clock.advance(0.2)
    assert answered == [None]


def test_client_within_its_quota_does_not_wait() -> None:
    world = World(quotas={QuotaType.PRODUCE: 100.0})
    (answer,) = outcome(world.ask(a_produce(), size=900))
    assert answer.throttle_time_ms == 0
    assert world.sent == []


def test_produce_without_answer_waits_too() -> None:
    world = World(quotas={QuotaType.PRODUCE: 100.0})

    async def no_answer(context: Any, request: Any) -> None:
        return None

    world._handle = no_answer  # type: ignore[method-assign]
    answered = outcome(world.ask(a_produce(acks=0), size=2000))
    assert world.sent == []
    assert answered == []
    world.clock.advance(10.1)
    assert answered == [None]


def test_other_requests_do_not_count_as_produced_bytes() -> None:
    world = World(quotas={QuotaType.PRODUCE: 100.0})
    assert len(outcome(world.ask(HEARTBEAT, size=1_000_000))) == 1


def test_static_default_is_a_quota_of_every_client_id() -> None:
    world = World(properties={"quota.producer.default": "100"})
    assert world.checks.is_active
    assert outcome(world.ask(a_produce(), size=2000)) == []
    assert world.sent[0].throttle_time_ms == 10_000


def test_time_that_a_handler_waits_is_not_time_that_it_uses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The quota request_percentage counts the time that a request keeps the broker busy."""
    world = World(quotas={QuotaType.REQUEST: 10.0})
    now = [0.0]
    monkeypatch.setattr("kafkalike.server.throttle.perf_counter", lambda: now[0])
    world.waiting = Deferred()
    answered = outcome(world.ask(HEARTBEAT))
    now[0] += 60.0
    world.waiting.callback(None)
    assert len(answered) == 1

    async def busy(context: Any, request: Any) -> Any:
        now[0] += 60.0
        return HeartbeatResponse()

    world._handle = busy  # type: ignore[method-assign]
    assert outcome(world.ask(HEARTBEAT)) == []
    assert world.sent[0].throttle_time_ms == 1000


def test_error_of_a_handler_passes_through_while_its_time_is_taken() -> None:
    world = World(quotas={QuotaType.REQUEST: 10.0})
    world.waiting = Deferred()
    failed: list[Any] = []
    world.ask(HEARTBEAT).addErrback(failed.append)
    world.waiting.errback(ValueError("no"))
    assert failed[0].type is ValueError


@pytest.mark.parametrize("request_", [LeaderAndIsrRequest()], ids=["LeaderAndIsr"])
def test_brokers_never_wait(request_: Message) -> None:
    world = World(quotas={QuotaType.REQUEST: 0.000001})
    assert len(outcome(world.ask(request_))) == 1


def test_forwarded_request_was_counted_where_the_client_asked() -> None:
    world = World(quotas={QuotaType.PRODUCE: 100.0})
    assert len(outcome(world.ask(a_produce(), size=9999, client_id=mark("app", 2)))) == 1


# --- fetch


def test_fetch_beyond_the_quota_is_not_sent_and_not_counted() -> None:
    world = World(quotas={QuotaType.FETCH: 100.0})
    context = world.context()
    found = [(None, FetchablePartitionResponse(record_set=b"x" * 2000))]
    assert world.throttle.fetch_wait_ms(context, found) == 10_000
    assert context.throttle_time_ms == 10_000
    small = [(None, FetchablePartitionResponse(record_set=b"x" * 900))]
    assert world.throttle.fetch_wait_ms(world.context(), small) == 0


def test_fetch_is_cut_to_what_fits_into_the_windows() -> None:
    world = World(quotas={QuotaType.FETCH: 100.0})
    assert world.throttle.max_fetch_bytes(world.context()) == 1000
    assert World().throttle.max_fetch_bytes(world.context()) == (1 << 31) - 1


def test_wait_that_a_handler_found_holds() -> None:
    world = World(quotas={QuotaType.FETCH: 100.0})
    context = world.context()
    context.throttle_time_ms = 70
    request = SimpleNamespace(replica_id=-1)
    assert world.throttle.wait_ms(ApiKey.FETCH, context, request, 1, 0.0) == 70
    follower = SimpleNamespace(replica_id=3)
    assert world.throttle.wait_ms(ApiKey.FETCH, context, follower, 1, 0.0) == 0
    assert FetchResponse().throttle_time_ms == 0


# --- controller mutations


def test_newer_client_is_refused_once_its_mutations_are_used_up() -> None:
    """KIP-599, strict."""
    world = World(quotas={QuotaType.CONTROLLER_MUTATION: 1.0})
    first, second = world.context(version=6), world.context(version=6)
    for context in (first, second):
        context.throttle = world.throttle
    first.mutations_of(ApiKey.CREATE_TOPICS)(15)  # a burst of 11 may be overdrawn once
    assert first.throttle_time_ms == 0
    with pytest.raises(ThrottlingQuotaExceededError):
        second.mutations_of(ApiKey.CREATE_TOPICS)(1)
    assert second.throttle_time_ms == 4000


def test_older_client_is_served_and_waits_afterwards() -> None:
    """KIP-599, permissive."""
    world = World(quotas={QuotaType.CONTROLLER_MUTATION: 1.0})
    context = world.context(version=5)
    context.throttle = world.throttle
    context.mutations_of(ApiKey.CREATE_TOPICS)(15)
    assert context.throttle_time_ms == 4000


def test_client_without_quota_creates_as_many_partitions_as_it_likes() -> None:
    world = World()
    context = world.context()
    context.mutations_of(ApiKey.CREATE_TOPICS)(1_000_000)
    assert context.throttle_time_ms == 0
