"""Large groups, and many: how long a rebalance takes, and what a heartbeat or a commit costs.

The members speak the wire themselves, each on a connection of its own, all in this process: a real
client per member would measure the clients.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest
from kafkalike.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalike.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalike.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkalike.protocol.schema import Message
from scripts.benchmark.measure import Figures, Watch
from scripts.benchmark.targets import Target

_SESSION_MS = 60_000
_REPEATS = 20
_ASSIGNMENT = bytes(60)
_PROTOCOL = JoinGroupRequestProtocol(name="range", metadata=encode_subscription(["t"]))


def group_counts(*, is_quick: bool) -> tuple[int, ...]:
    """How many groups of one member are measured."""
    return (200,) if is_quick else (1000,)


def group_sizes(*, is_quick: bool) -> tuple[int, ...]:
    """How many members are measured."""
    return (200,) if is_quick else (200, 1000)


def measure_group(target: Target, members: int, group_id: str) -> Figures:
    """Let so many members form a group, send heartbeats and leave."""
    with ExitStack() as stack:
        clients = _connect(target, members, stack)
        _wait_for_coordinator(clients[0], group_id)
        group = _Group(group_id, clients)
        started = time.perf_counter()
        group.settle()
        settled_s = time.perf_counter() - started
        heartbeats = _repeat(target, group.heartbeat, members)
        group.leave()
    return {
        f"group of {members}: rebalance": {"settled_s": settled_s},
        f"group of {members}: heartbeats": heartbeats,
    }


def measure_many_groups(target: Target, count: int, prefix: str) -> Figures:
    """Let so many groups have a member each, which sends heartbeats and commits offsets."""
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    admin.create_topics([NewTopic(prefix, 1, 1)])[prefix].result(30)
    with ExitStack() as stack:
        clients = _connect(target, count, stack)
        _wait_for_coordinator(clients[0], prefix)
        groups = _ManyGroups(prefix, clients)
        started = time.perf_counter()
        groups.settle()
        settled_s = time.perf_counter() - started
        return {
            f"{count} groups: first rebalance": {"settled_s": settled_s},
            f"{count} groups: heartbeats": _repeat(target, groups.heartbeat, count),
            f"{count} groups: commits": _repeat(target, groups.commit, count),
        }


def _connect(target: Target, count: int, stack: ExitStack) -> list[SimpleClient]:
    host, _, port = target.bootstrap_servers.split(",")[0].rpartition(":")
    return [stack.enter_context(SimpleClient(host, int(port), timeout_s=120)) for _ in range(count)]


def _repeat(target: Target, send_all: Callable[[], None], requests: int) -> dict[str, float]:
    """Do it some times, and tell what one request of it cost."""
    with Watch(target.pids) as watch:
        started = time.perf_counter()
        for _ in range(_REPEATS):
            send_all()
        elapsed_s = time.perf_counter() - started
    return {
        "requests_per_s": requests * _REPEATS / elapsed_s,
        "cpu_s_per_1000_requests": watch.cpu_s * 1000 / (requests * _REPEATS),
        "rss_mb": watch.rss_bytes / 1e6,
    }


class _Group:
    """The members of one group, each with a connection of its own."""

    def __init__(self, group_id: str, clients: Sequence[SimpleClient]) -> None:
        self._group_id = group_id
        self._clients = clients
        self._member_ids = [""] * len(clients)
        self._generation = -1

    def settle(self) -> None:
        """Join, all of them, until everybody knows its assignment."""
        everybody = range(len(self._clients))
        self._member_ids = [answer.member_id for answer in self._ask(everybody, self._join)]
        (first,) = self._ask([0], self._join)  # the first one has a generation of its own
        self._sync([0], first.generation_id)
        answers = _good(self._ask([*everybody[1:], 0], self._join))
        (generation,) = {answer.generation_id for answer in answers}
        self._sync([*everybody[1:], 0], generation)

    def heartbeat(self) -> None:
        """Let everybody send one heartbeat."""
        _good(self._ask(range(len(self._clients)), self._heartbeat))

    def leave(self) -> None:
        """Let everybody leave at once."""
        members = [MemberIdentity(member_id=member_id) for member_id in self._member_ids]
        self._clients[0].send(LeaveGroupRequest(group_id=self._group_id, members=members))

    def _sync(self, members: Sequence[int], generation: int) -> None:
        self._generation = generation
        _good(self._ask(members, self._sync_request))

    def _ask(
        self, members: Sequence[int], request_of: Callable[[int], Message]
    ) -> list[Any]:  # Any: the request decides the class of its answer
        return _ask((self._clients[member], request_of(member)) for member in members)

    def _join(self, member: int) -> JoinGroupRequest:
        return _join(self._group_id, self._member_ids[member])

    def _sync_request(self, member: int) -> SyncGroupRequest:
        assigned = self._member_ids if member == 0 else []  # the leader
        return _sync(self._group_id, self._member_ids[member], self._generation, assigned)

    def _heartbeat(self, member: int) -> HeartbeatRequest:
        return _heartbeat(self._group_id, self._member_ids[member], self._generation)


class _ManyGroups:
    """Groups with one member each, which has a connection of its own; they read one topic."""

    def __init__(self, prefix: str, clients: Sequence[SimpleClient]) -> None:
        self._topic = prefix
        self._clients = {f"{prefix}-{number}": client for number, client in enumerate(clients)}
        self._member_ids: dict[str, str] = {}

    def settle(self) -> None:
        """Let every member join a group of its own, and assign everything to itself."""
        told = self._ask(lambda group: _join(group, ""))
        self._member_ids = {
            group: answer.member_id for group, answer in zip(self._clients, told, strict=True)
        }
        ids = self._member_ids
        _good(self._ask(lambda group: _join(group, ids[group])))
        _good(self._ask(lambda group: _sync(group, ids[group], 1, [ids[group]])))

    def heartbeat(self) -> None:
        """Let every member send one heartbeat."""
        _good(self._ask(lambda group: _heartbeat(group, self._member_ids[group], 1)))

    def commit(self) -> None:
        """Let every member commit an offset."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = OffsetCommitRequestTopic(name=self._topic, partitions=[partition])
        answers = self._ask(
            lambda group: OffsetCommitRequest(
                group_id=group,
                generation_id=1,
                member_id=self._member_ids[group],
                topics=[topic],
            )
        )
        codes = {one.partitions[0].error_code for answer in answers for one in answer.topics}
        assert codes == {ErrorCode.NONE}

    def _ask(self, request_of: Callable[[str], Message]) -> list[Any]:  # Any: as above
        return _ask((client, request_of(group)) for group, client in self._clients.items())


# --- what members ask


# Any: the request decides the class of its answer.
def _ask(requests: Iterable[tuple[SimpleClient, Message]]) -> list[Any]:
    """Send all before the first answer is read."""
    sent = [(client, request, client.send_only(request)) for client, request in requests]
    return [
        client.receive(ApiKey(request.api_key), request.max_version, correlation_id)
        for client, request, correlation_id in sent
    ]


def _good(answers: list[Any]) -> list[Any]:
    assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
    return answers


def _join(group_id: str, member_id: str) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=_SESSION_MS,
        rebalance_timeout_ms=_SESSION_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[_PROTOCOL],
    )


def _sync(
    group_id: str, member_id: str, generation: int, assigned: Sequence[str]
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=generation,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            SyncGroupRequestAssignment(member_id=one, assignment=_ASSIGNMENT) for one in assigned
        ],
    )


def _heartbeat(group_id: str, member_id: str, generation: int) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=member_id)


def _wait_for_coordinator(client: SimpleClient, group_id: str) -> None:
    """Ask until the offsets topic is there, and the group's part of it is loaded."""
    deadline = time.monotonic() + 60
    probe = HeartbeatRequest(group_id=group_id, member_id="nobody")
    while (
        client.send(FindCoordinatorRequest(key=group_id)).error_code != ErrorCode.NONE
        or client.send(probe).error_code != ErrorCode.UNKNOWN_MEMBER_ID
    ):
        if time.monotonic() > deadline:
            raise RuntimeError(f"no coordinator for {group_id}")
        time.sleep(0.1)
