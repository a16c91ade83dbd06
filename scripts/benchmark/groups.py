"""Large groups: how long a rebalance of many members takes, and what a heartbeat costs the broker.

The members speak the wire themselves, each on a connection of its own, all in this process: a real
client per member would measure the clients.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkalike.protocol.messages.heartbeat import HeartbeatRequest
from kafkalike.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalike.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from kafkalike.protocol.schema import Message
from scripts.benchmark.measure import Figures, Watch
from scripts.benchmark.targets import Target

_SESSION_MS = 60_000
_HEARTBEATS = 20
_ASSIGNMENT = bytes(60)
_PROTOCOL = JoinGroupRequestProtocol(name="range", metadata=encode_subscription(["t"]))


def group_sizes(*, is_quick: bool) -> tuple[int, ...]:
    """How many members are measured."""
    return (200,) if is_quick else (200, 1000)


def measure_group(target: Target, members: int, group_id: str) -> Figures:
    """Let so many members form a group, send heartbeats and leave."""
    host, _, port = target.bootstrap_servers.split(",")[0].rpartition(":")
    with ExitStack() as stack:
        clients = [
            stack.enter_context(SimpleClient(host, int(port), timeout_s=120))
            for _ in range(members)
        ]
        _wait_for_coordinator(clients[0], group_id)
        group = _Group(group_id, clients)
        started = time.perf_counter()
        group.settle()
        settled_s = time.perf_counter() - started
        with Watch(target.pids) as watch:
            started = time.perf_counter()
            for _ in range(_HEARTBEATS):
                group.heartbeat()
            elapsed_s = time.perf_counter() - started
        group.leave()
    requests = members * _HEARTBEATS
    return {
        f"group of {members}: rebalance": {"settled_s": settled_s},
        f"group of {members}: heartbeats": {
            "requests_per_s": requests / elapsed_s,
            "cpu_s_per_1000_requests": watch.cpu_s * 1000 / requests,
            "rss_mb": watch.rss_bytes / 1e6,
        },
    }


class _Group:
    """All members; each request is sent by all before the first answer is read."""

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
        answers = list(self._ask([*everybody[1:], 0], self._join))
        assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
        (self._generation,) = {answer.generation_id for answer in answers}
        self._sync([*everybody[1:], 0], self._generation)

    def heartbeat(self) -> None:
        """Let everybody send one heartbeat."""
        answers = self._ask(range(len(self._clients)), self._heartbeat)
        assert {answer.error_code for answer in answers} == {ErrorCode.NONE}

    def leave(self) -> None:
        """Let everybody leave at once."""
        members = [MemberIdentity(member_id=member_id) for member_id in self._member_ids]
        self._clients[0].send(LeaveGroupRequest(group_id=self._group_id, members=members))

    def _sync(self, members: Sequence[int], generation: int) -> None:
        self._generation = generation
        answers = self._ask(members, self._sync_request)
        assert {answer.error_code for answer in answers} == {ErrorCode.NONE}

    # Any: the request decides the class of its answer.
    def _ask(self, members: Sequence[int], request_of: Any) -> Iterator[Any]:
        sent = []
        for member in members:
            request: Message = request_of(member)
            client = self._clients[member]
            sent.append((client, request, client.send_only(request)))
        for client, request, correlation_id in sent:
            yield client.receive(ApiKey(request.api_key), request.max_version, correlation_id)

    def _join(self, member: int) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_SESSION_MS,
            member_id=self._member_ids[member],
            protocol_type="consumer",
            protocols=[_PROTOCOL],
        )

    def _sync_request(self, member: int) -> SyncGroupRequest:
        assignments = []
        if member == 0:  # the leader
            assignments = [
                SyncGroupRequestAssignment(member_id=member_id, assignment=_ASSIGNMENT)
                for member_id in self._member_ids
            ]
        return SyncGroupRequest(
            group_id=self._group_id,
            generation_id=self._generation,
            member_id=self._member_ids[member],
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )

    def _heartbeat(self, member: int) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self._group_id,
            generation_id=self._generation,
            member_id=self._member_ids[member],
        )


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
