"""Groups under joins, leaves, crashes, restarts, failing logs and coordinators that move.

Consumers as they are: each joins, syncs, sends heartbeats and commits, and believes only what the
coordinator answers. Whatever happens, no partition has two owners in one generation, and when all
is quiet every partition has exactly one and no acknowledged commit is lost.
"""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from twisted.internet.defer import Deferred

from kafkalike.coordinator.group.results import JoinGroupResult, SyncGroupResult
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import (
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from kafkalike.protocol.errors import ErrorCode, NotEnoughReplicasError, RequestTimedOutError
from tests.support.group_world import GroupWorld
from tests.support.run import result_of

PARTITIONS = [TopicPartition("orders", number) for number in range(3)]
PROTOCOLS = (("roundrobin", encode_subscription(["orders"])),)
SESSION_MS = 10_000
REBALANCE_MS = 20_000


class Consumer:
    """One member, as far as it can know."""

    def __init__(self, instance: str | None) -> None:
        self.instance = instance
        self.member_id = ""
        self.generation = -1
        self.owned: list[TopicPartition] | None = None
        self.joining: Deferred[JoinGroupResult] | None = None
        self.syncing: Deferred[SyncGroupResult] | None = None
        self.is_fenced = False

    def forget_requests(self) -> None:
        """The connection is lost, with what was on its way."""
        self.joining = self.syncing = None
        self.owned = None
        self.generation = -1

    def step(self, world: GroupWorld) -> None:
        """Do the next thing that a consumer would do."""
        if self.is_fenced:
            return
        if self.joining is not None:
            if self.joining.called:
                answer, self.joining = result_of(self.joining), None
                self._joined(world, answer)
        elif self.syncing is not None:
            if self.syncing.called:
                synced, self.syncing = result_of(self.syncing), None
                self._synced(synced)
        elif self.owned is None:
            self._join(world)
        else:
            code = world.heartbeat(self.member_id, self.generation, instance=self.instance)
            self._heard(code)

    def _join(self, world: GroupWorld) -> None:
        self.joining = world.join(
            self.member_id,
            instance=self.instance,
            protocols=PROTOCOLS,
            session_ms=SESSION_MS,
            rebalance_ms=REBALANCE_MS,
            requires_id=self.instance is None,
        )

    def _joined(self, world: GroupWorld, answer: JoinGroupResult) -> None:
        self.generation = -1
        if answer.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code is ErrorCode.NONE:
            self.member_id = answer.member_id
            self.generation = answer.generation_id
            assignment = _assign(answer) if answer.leader_id == self.member_id else {}
            self.syncing = world.sync(
                self.member_id, self.generation, assignment, group_instance_id=self.instance
            )
        else:
            self._failed(answer.error_code)

    def _synced(self, answer: SyncGroupResult) -> None:
        if answer.error_code is ErrorCode.NONE:
            self.owned = _partitions(answer.assignment)
        else:
            self._failed(answer.error_code)

    def _heard(self, code: ErrorCode) -> None:
        if code is not ErrorCode.NONE:
            self.owned = None
            self._failed(code)

    def _failed(self, code: ErrorCode) -> None:
        if code is ErrorCode.FENCED_INSTANCE_ID:
            self.is_fenced = True
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.member_id = ""
        else:
            assert code in (
                ErrorCode.REBALANCE_IN_PROGRESS,
                ErrorCode.COORDINATOR_NOT_AVAILABLE,
                ErrorCode.NOT_COORDINATOR,
                ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ), code


def _assign(answer: JoinGroupResult) -> dict[str, bytes]:
    """Share the partitions among the members, as the leader's assignor does."""
    members = sorted(one.member_id for one in answer.members)
    return {
        member: encode_assignment(PARTITIONS[number :: len(members)])
        for number, member in enumerate(members)
    }


def _partitions(assignment: bytes) -> list[TopicPartition]:
    if not assignment:
        return []
    return [
        TopicPartition(one.topic, partition)
        for one in decode_assignment(assignment).assigned_partitions
        for partition in one.partitions
    ]


class Rebalancing(RuleBasedStateMachine):
    """A group and all that can happen to it."""

    @initialize(kinds=st.lists(st.booleans(), min_size=1, max_size=4))
    def start(self, kinds: list[bool]) -> None:
        self.world = GroupWorld()
        self.consumers: list[Consumer] = []
        self.committed: dict[TopicPartition, int] = {}
        self.instances = 0
        for is_static in kinds:
            self.add(is_static=is_static)
        self.time_passes(seconds=12, is_silent=False)

    @rule(is_static=st.booleans())
    def add(self, *, is_static: bool) -> None:
        self.instances += 1
        self.consumers.append(Consumer(f"i{self.instances}" if is_static else None))

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        if self.consumers:
            consumer = data.draw(st.sampled_from(self.consumers))
            self.consumers.remove(consumer)
            if consumer.member_id:
                self.world.leave(consumer.member_id, instance=consumer.instance)

    @rule(data=st.data())
    def crash(self, data: st.DataObject) -> None:
        if self.consumers:
            self.consumers.remove(data.draw(st.sampled_from(self.consumers)))

    @rule(data=st.data())
    def restart(self, data: st.DataObject) -> None:
        """A process ends without a word and another takes its place; a static one is known."""
        if self.consumers:
            old = data.draw(st.sampled_from(self.consumers))
            self.consumers[self.consumers.index(old)] = Consumer(old.instance)

    @rule(data=st.data())
    def double(self, data: st.DataObject) -> None:
        """A second process with the same group.instance.id: one of the two must go."""
        static = [one for one in self.consumers if one.instance and not one.is_fenced]
        if static:
            self.consumers.append(Consumer(data.draw(st.sampled_from(static)).instance))

    @rule(data=st.data())
    def lose_connection(self, data: st.DataObject) -> None:
        if self.consumers:
            data.draw(st.sampled_from(self.consumers)).forget_requests()

    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        owners = [one for one in self.consumers if one.owned]
        if owners:
            consumer = data.draw(st.sampled_from(owners))
            assert consumer.owned
            tp = data.draw(st.sampled_from(consumer.owned))
            offset = self.committed.get(tp, 0) + 1
            code = self.world.commit(
                offset,
                consumer.member_id,
                consumer.generation,
                tp=tp,
                group_instance_id=consumer.instance,
            )
            if code is ErrorCode.NONE:
                self.committed[tp] = offset

    @rule(error=st.sampled_from([None, None, NotEnoughReplicasError(), RequestTimedOutError()]))
    def trouble_with_the_log(self, error: Any) -> None:
        self.world.replicas.error = error

    @rule()
    def coordinator_moves(self) -> None:
        now = self.world.clock.seconds()
        self.world = GroupWorld(replicas=self.world.replicas)
        self.world.clock.advance(now - self.world.clock.seconds())
        for consumer in self.consumers:
            consumer.joining = consumer.syncing = None

    @rule(seconds=st.integers(1, 30), is_silent=st.sampled_from([False, False, True]))
    def time_passes(self, *, seconds: int, is_silent: bool) -> None:
        for _ in range(seconds):
            self.world.advance_ms(1000)
            if not is_silent:
                self._step_all()

    @rule(seconds=st.integers(1, 5))
    def all_act(self, seconds: int) -> None:
        self.time_passes(seconds=seconds, is_silent=False)

    @rule(data=st.data())
    def one_acts(self, data: st.DataObject) -> None:
        if self.consumers:
            data.draw(st.sampled_from(self.consumers)).step(self.world)

    def _step_all(self) -> None:
        for consumer in list(self.consumers):
            consumer.step(self.world)
        self.world.advance_ms(0)

    @invariant()
    def no_partition_has_two_owners_in_one_generation(self) -> None:
        owned = [
            (consumer.generation, tp)
            for consumer in self.consumers
            if not consumer.is_fenced
            for tp in consumer.owned or ()
        ]
        assert len(owned) == len(set(owned)), owned

    @invariant()
    def committed_offsets_are_the_acknowledged_ones(self) -> None:
        for tp, offset in self.committed.items():
            assert self.world.committed(tp=tp) == offset

    def teardown(self) -> None:
        """When all is quiet, every partition has exactly one owner."""
        self.world.replicas.error = None
        for _ in range(120):
            self.world.advance_ms(1000)
            self._step_all()
        alive = [one for one in self.consumers if not one.is_fenced]
        instances = [one.instance for one in alive if one.instance]
        assert len(instances) == len(set(instances)), "a double was not fenced"
        owned = [tp for one in alive for tp in one.owned or ()]
        assert sorted(owned) == (PARTITIONS if alive else []), self.world.group()
        assert {one.generation for one in alive} <= {self._generation()}
        self.committed_offsets_are_the_acknowledged_ones()

    def _generation(self) -> int:
        found = self.world.coordinator.store.get("g")
        return found.generation_id if found is not None else -1


def test_each_partition_has_exactly_one_owner_whatever_happens() -> None:
    """M57: each partition has exactly one member of the group, under joins and leaves."""
    run_state_machine_as_test(
        Rebalancing, settings=settings(max_examples=60, stateful_step_count=30)
    )
