"""Consumer groups: list, describe, delete; their offsets: list, alter, reset, delete."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafkalike.client.admin.admin_base import AdminBase, as_dict, by_topic, check
from kafkalike.client.admin.values import OffsetSpec
from kafkalike.client.consumer.coordinator_link import CoordinatorLink
from kafkalike.client.consumer.offset_lookup import OffsetLookup
from kafkalike.client.consumer.offset_store import OffsetStore
from kafkalike.client.consumer.offsets import OffsetAndMetadata
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscribed_topics,
)
from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkalike.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkalike.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalike.protocol.messages.list_groups import ListGroupsRequest
from kafkalike.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

Offsets = dict[TopicPartition, OffsetAndMetadata]


class GroupAdmin(AdminBase):
    """What can be done with groups."""

    async def list_groups(
        self, broker_ids: Iterable[int] | None = None, states_filter: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """Return all groups: each broker knows those that it coordinates."""
        found: list[dict[str, Any]] = []
        request = ListGroupsRequest(states_filter=list(states_filter or ()))
        for broker_id in await self.broker_ids() if broker_ids is None else broker_ids:
            answer = await self.ask_broker(broker_id, request)
            check(answer.error_code, f"listing groups of broker {broker_id}")
            found += [as_dict(group) for group in answer.groups]
        return found

    async def list_consumer_groups(
        self, broker_ids: Iterable[int] | None = None
    ) -> list[tuple[str, str]]:
        """Return (group id, protocol type) of all groups, as kafka-python 2 does."""
        groups = await self.list_groups(broker_ids)
        return [(group["group_id"], group["protocol_type"]) for group in groups]

    async def describe_groups(
        self, group_ids: Iterable[str], include_authorized_operations: bool = False
    ) -> dict[str, dict[str, Any]]:
        """Return state and members of groups, with what each member subscribes to and has."""
        found: dict[str, dict[str, Any]] = {}
        for group_id in group_ids:
            request = DescribeGroupsRequest(
                groups=[group_id], include_authorized_operations=include_authorized_operations
            )
            answer = await self.ask_coordinator(group_id, request)
            for group in answer.groups:
                check(group.error_code, f"describing group {group.group_id}")
                described = as_dict(group)
                if group.protocol_type == PROTOCOL_TYPE:
                    for member in described["members"]:
                        _open_member(member)
                found[group.group_id] = described
        return found

    async def describe_consumer_groups(
        self, group_ids: Iterable[str], include_authorized_operations: bool = False
    ) -> list[dict[str, Any]]:
        """Return what `describe_groups` does, as a list: the name in kafka-python 2."""
        found = await self.describe_groups(group_ids, include_authorized_operations)
        return list(found.values())

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, str]:
        """Delete groups that have no members, with their offsets."""
        found: dict[str, str] = {}
        for group_id in group_ids:
            request = DeleteGroupsRequest(groups_names=[group_id])
            answer = await self.ask_coordinator(group_id, request)
            for group in answer.results:
                check(group.error_code, f"deleting group {group.group_id}")
                found[group.group_id] = "OK"
        return found

    delete_consumer_groups = delete_groups

    async def list_group_offsets(
        self, group_specs: Mapping[str, Iterable[TopicPartition] | None] | Iterable[str] | str
    ) -> dict[str, Offsets]:
        """Return the committed offsets of groups: `{group: partitions}`, None for all."""
        if isinstance(group_specs, str):
            group_specs = [group_specs]
        if not isinstance(group_specs, Mapping):
            group_specs = dict.fromkeys(group_specs)
        return {
            group_id: await self.list_consumer_group_offsets(group_id, partitions)
            for group_id, partitions in group_specs.items()
        }

    async def list_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None
    ) -> Offsets:
        """Return the committed offsets of one group."""
        store = self._store(group_id)
        wanted = None if partitions is None else list(partitions)
        return await self.client.retrying(lambda: store.fetch(wanted))

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int]
    ) -> None:
        """Set the offsets of a group that has no members."""
        store = self._store(group_id)
        given = {
            TopicPartition(*tp): OffsetAndMetadata(o) if isinstance(o, int) else o
            for tp, o in offsets.items()
        }
        await self.client.retrying(lambda: store.commit(given))

    async def reset_group_offsets(
        self, group_id: str, offset_specs: Mapping[TopicPartition, OffsetSpec | int]
    ) -> Offsets:
        """Set the offsets of a group to the earliest, the latest, or those of a time."""
        times = {TopicPartition(*tp): int(spec) for tp, spec in offset_specs.items()}
        lookup = OffsetLookup(self.client, 0)
        found = await lookup.find(times)
        late = {tp: OffsetSpec.LATEST.value for tp, one in found.items() if one.offset < 0}
        if late:  # After the time there is no record: everything is read already.
            found |= await lookup.find(late)
        offsets = {
            tp: OffsetAndMetadata(one.offset, "", one.leader_epoch) for tp, one in found.items()
        }
        await self.alter_group_offsets(group_id, offsets)
        return offsets

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, str]:
        """Forget the offsets of partitions that the group does not read any more."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=topic,
                    partitions=[OffsetDeleteRequestPartition(partition_index=p) for p in numbers],
                )
                for topic, numbers in by_topic(partitions).items()
            ],
        )
        answer = await self.ask_coordinator(group_id, request)
        check(answer.error_code, f"deleting offsets of group {group_id}")
        found: dict[TopicPartition, str] = {}
        for topic in answer.topics:
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                check(part.error_code, f"deleting the offset of {tp} in group {group_id}")
                found[tp] = "OK"
        return found

    async def remove_group_members(
        self, group_id: str, members: Iterable[str | Mapping[str, str]]
    ) -> list[dict[str, Any]]:
        """Throw members out of a group: member ids, or `{"group_instance_id": …}`."""
        request = LeaveGroupRequest(
            group_id=group_id,
            members=[
                MemberIdentity(member_id=member)
                if isinstance(member, str)
                else MemberIdentity(
                    member_id=member.get("member_id", ""),
                    group_instance_id=member.get("group_instance_id"),
                )
                for member in members
            ],
        )
        answer = await self.ask_coordinator(group_id, request)
        check(answer.error_code, f"removing members of group {group_id}")
        return [as_dict(member) for member in answer.members]

    def _store(self, group_id: str) -> OffsetStore:
        return OffsetStore(CoordinatorLink(self.client, group_id), group_id)


def _open_member(member: dict[str, Any]) -> None:
    """Replace the bytes that only consumers understand by what they say."""
    try:
        assigned = decode_assignment(member["member_assignment"]).assigned_partitions
        member["member_assignment"] = [
            TopicPartition(topic.topic, p) for topic in assigned for p in topic.partitions
        ]
        topics = decode_subscribed_topics(member["member_metadata"])
        member["member_metadata"] = {"topics": list(topics)}
    except ProtocolError:
        return  # A group that is rebalancing has none yet; other clients have their own layouts.
