"""A member of a group that speaks the wire itself, in any version, one connection each."""

from collections.abc import Mapping, Sequence
from typing import Any

from kafkalike.client.simple_client import SimpleClient
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
from kafkalike.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkalike.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.waiting import wait_until

SUBSCRIPTION = encode_subscription(["orders"], version=1)
PROTOCOLS = (("range", SUBSCRIPTION), ("roundrobin", SUBSCRIPTION))


def wait_for_group_coordinator(client: SimpleClient, group_id: str) -> Any:
    """Ask until the group has a coordinator; the offsets topic is created by that."""

    def found() -> Any:
        answer = client.send(FindCoordinatorRequest(key=group_id))
        return answer if answer.error_code == ErrorCode.NONE else None

    answer = wait_until(found, 60, f"a coordinator of {group_id}")
    # It may still be loading.
    wait_until(lambda: fetch(client, group_id, None).error_code == ErrorCode.NONE, 30, "loading")
    return answer


class WireMember:
    """One member; keeps what it was told."""

    def __init__(self, client: SimpleClient, group_id: str, *, instance: str | None = None) -> None:
        self.client = client
        self.group_id = group_id
        self.instance = instance
        self.member_id = ""
        self.generation = -1

    # Answers are Any: their classes follow from the request, which only SimpleClient knows.
    def join(
        self,
        version: int | None = None,
        *,
        protocols: Sequence[tuple[str, bytes]] = PROTOCOLS,
        protocol_type: str = "consumer",
        session_ms: int = 6000,
        rebalance_ms: int = 10_000,
    ) -> Any:
        """Send one JoinGroup and take over what it is answered."""
        request = JoinGroupRequest(
            group_id=self.group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type=protocol_type,
            protocols=[
                JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols
            ],
        )
        answer = self.client.send(request, version)
        if answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.member_id = answer.member_id
            self.generation = answer.generation_id
        return answer

    def join_fully(self, version: int | None = None, **fields: Any) -> Any:
        """Join, and once more with the id if one is required."""
        answer = self.join(version, **fields)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            answer = self.join(version, **fields)
        return answer

    def sync(
        self,
        version: int | None = None,
        assignment: Mapping[str, bytes] | None = None,
        *,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
    ) -> Any:
        """Send one SyncGroup."""
        request = SyncGroupRequest(
            group_id=self.group_id,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member, assignment=data)
                for member, data in (assignment or {}).items()
            ],
        )
        return self.client.send(request, version)

    def heartbeat(self, version: int | None = None, *, generation: int | None = None) -> Any:
        """Send one Heartbeat."""
        request = HeartbeatRequest(
            group_id=self.group_id,
            generation_id=self.generation if generation is None else generation,
            member_id=self.member_id,
            group_instance_id=self.instance,
        )
        return self.client.send(request, version)

    def leave(self, version: int | None = None) -> Any:
        """Leave the group."""
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance)
        request = LeaveGroupRequest(
            group_id=self.group_id, member_id=self.member_id, members=[identity]
        )
        return self.client.send(request, version)

    def commit(self, topic: str, offset: int, version: int | None = None, **fields: Any) -> Any:
        """Commit an offset of partition 0 as a member."""
        return commit(
            self.client,
            self.group_id,
            topic,
            offset,
            version,
            member_id=self.member_id,
            generation_id=self.generation,
            group_instance_id=self.instance,
            **fields,
        )


def commit(
    client: SimpleClient,
    group_id: str,
    topic: str,
    offset: int,
    version: int | None = None,
    *,
    partition: int = 0,
    metadata: str | None = "",
    leader_epoch: int = -1,
    timestamp: int = -1,
    **fields: Any,
) -> Any:
    """Commit one offset and return the answer for the partition."""
    one = OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        commit_timestamp=timestamp,
        committed_metadata=metadata,
    )
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[one])]
    request = OffsetCommitRequest(group_id=group_id, topics=topics, **fields)
    ((answer,),) = (t.partitions for t in client.send(request, version).topics)
    return answer


def fetch(
    client: SimpleClient,
    group_id: str,
    topics: Mapping[str, Sequence[int]] | None,
    version: int | None = None,
    *,
    require_stable: bool = False,
) -> Any:
    """Ask for committed offsets; None for all."""
    wanted = None
    if topics is not None:
        wanted = [
            OffsetFetchRequestTopic(name=name, partition_indexes=list(partitions))
            for name, partitions in topics.items()
        ]
    request = OffsetFetchRequest(group_id=group_id, topics=wanted, require_stable=require_stable)
    return client.send(request, version)


def committed(client: SimpleClient, group_id: str, topic: str, partition: int = 0) -> int:
    """Ask for one committed offset; -1 if there is none."""
    ((answer,),) = (t.partitions for t in fetch(client, group_id, {topic: [partition]}).topics)
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    return int(answer.committed_offset)
