"""Members, protocols and generations of a group, without a coordinator."""

from collections.abc import Sequence

import pytest

from kafkalike.coordinator.group.group_metadata import (
    COMPLETING_REBALANCE,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupMetadata,
)
from kafkalike.coordinator.group.member_metadata import MemberMetadata
from kafkalike.coordinator.group.results import JoinGroupResult, SyncGroupResult
from kafkalike.protocol.consumer_protocol import encode_subscription
from kafkalike.protocol.errors import ErrorCode

NOW = 5000
RANGE = ("range", encode_subscription(["a", "b"]))
STICKY = ("sticky", encode_subscription(["a", "c"]))


def a_member(
    member_id: str,
    protocols: Sequence[tuple[str, bytes]] = (RANGE,),
    *,
    instance: str | None = None,
    rebalance_ms: int = 60_000,
    protocol_type: str = "consumer",
) -> MemberMetadata:
    return MemberMetadata(
        member_id,
        group_instance_id=instance,
        client_id="client",
        client_host="/10.0.0.1",
        rebalance_timeout_ms=rebalance_ms,
        session_timeout_ms=10_000,
        protocol_type=protocol_type,
        supported_protocols=protocols,
    )


def a_group(*members: MemberMetadata, joined: bool = True) -> GroupMetadata:
    group = GroupMetadata("g", NOW, PREPARING_REBALANCE)
    for member in members:
        group.add(member, (lambda _: None) if joined else None)
    return group


# --- leader


def test_first_member_leads_and_decides_the_kind_of_group() -> None:
    group = a_group(a_member("m1"), a_member("m2"))
    assert (group.leader_id, group.protocol_type) == ("m1", "consumer")


def test_another_member_leads_when_the_leader_is_removed() -> None:
    group = a_group(a_member("m1"), a_member("m2"))
    group.remove("m1")
    assert group.leader_id == "m2"
    group.remove("m2")
    assert group.leader_id is None


def test_leader_that_did_not_join_is_replaced_by_one_that_did() -> None:
    absent, present = a_member("m1"), a_member("m2")
    group = a_group(absent, joined=False)
    group.add(present, lambda _: None)
    assert group.maybe_elect_new_joined_leader()
    assert group.leader_id == "m2"


def test_no_leader_is_elected_if_nobody_joined() -> None:
    group = a_group(a_member("m1"), joined=False)
    assert not group.maybe_elect_new_joined_leader()
    assert group.leader_id == "m1"
    assert not GroupMetadata("g", NOW).maybe_elect_new_joined_leader()


# --- who has joined


def test_all_have_joined_when_nobody_is_missing_or_pending() -> None:
    member = a_member("m1")
    group = a_group(member, joined=False)
    assert not group.has_all_members_joined
    group.update_member(member, [RANGE], lambda _: None)
    assert group.has_all_members_joined
    group.pending_members.add("m2")
    assert not group.has_all_members_joined


def test_member_that_joins_twice_counts_once_and_only_its_last_join_is_answered() -> None:
    member = a_member("m1")
    answers: list[str] = []
    group = a_group(member, joined=False)
    group.update_member(member, [RANGE], lambda _: answers.append("first"))
    group.update_member(member, [RANGE], lambda _: answers.append("second"))
    assert group.awaiting_join_count == 1
    group.answer_join(member, JoinGroupResult(member_id="m1"))
    group.answer_join(member, JoinGroupResult(member_id="m1"))
    assert answers == ["second"]
    assert group.awaiting_join_count == 0


def test_removing_a_member_that_waits_counts_it_out() -> None:
    group = a_group(a_member("m1"), a_member("m2"))
    group.remove("m1")
    assert group.awaiting_join_count == 1
    group.remove("nobody")
    assert group.awaiting_join_count == 1


def test_rebalance_takes_as_long_as_the_slowest_member_needs() -> None:
    group = a_group(a_member("m1", rebalance_ms=100), a_member("m2", rebalance_ms=300))
    assert group.rebalance_timeout_ms == 300
    assert GroupMetadata("g", NOW).rebalance_timeout_ms == 0


# --- protocols


def test_group_takes_only_members_that_have_a_protocol_in_common() -> None:
    group = a_group(a_member("m1", [RANGE, STICKY]), a_member("m2", [RANGE]))
    assert group.supports_protocols("consumer", ["range"])
    assert not group.supports_protocols("consumer", ["sticky"])
    assert not group.supports_protocols("connect", ["range"])


def test_empty_group_takes_any_kind_but_none() -> None:
    group = GroupMetadata("g", NOW)
    assert group.supports_protocols("whatever", ["x"])
    assert not group.supports_protocols("", ["x"])
    assert not group.supports_protocols("consumer", [])


@pytest.mark.parametrize(
    ("wishes", "selected"),
    [
        ([[RANGE, STICKY], [RANGE, STICKY], [STICKY, RANGE]], "range"),
        ([[STICKY, RANGE], [STICKY, RANGE], [RANGE, STICKY]], "sticky"),
        ([[STICKY, RANGE], [STICKY, RANGE], [RANGE]], "range"),
    ],
)
def test_protocol_with_most_votes_among_those_common_to_all_is_selected(
    wishes: list[list[tuple[str, bytes]]], selected: str
) -> None:
    members = [a_member(f"m{number}", wish) for number, wish in enumerate(wishes)]
    assert a_group(*members).select_protocol() == selected


def test_member_that_changes_its_protocols_changes_the_vote() -> None:
    member = a_member("m1", [RANGE, STICKY])
    group = a_group(member)
    group.update_member(member, [STICKY], None)
    assert group.select_protocol() == "sticky"
    assert not group.supports_protocols("consumer", ["range"])


# --- generations


def test_next_generation_with_members_waits_for_their_assignment() -> None:
    group = a_group(a_member("m1", [RANGE, STICKY]), a_member("m2", [STICKY, RANGE]))
    group.pending_sync_members.add("m1")
    group.init_next_generation(NOW + 1)
    assert group.state is COMPLETING_REBALANCE
    assert group.generation_id == 1
    assert group.protocol_name == "range"
    assert group.subscribed_topics == {"a", "b"}
    assert not group.pending_sync_members


def test_next_generation_without_members_is_empty() -> None:
    group = a_group(a_member("m1"))
    group.remove("m1")
    group.init_next_generation(NOW + 1)
    assert group.state is EMPTY
    assert (group.generation_id, group.protocol_name) == (1, None)
    assert group.subscribed_topics == frozenset()


@pytest.mark.parametrize("metadata", [b"", b"\x00", b"\x00\x00\x00\x00\x00\xff", b"\xff\xff"])
def test_unreadable_subscription_means_that_topics_are_not_known(metadata: bytes) -> None:
    group = a_group(a_member("m1", [("range", metadata)]))
    group.init_next_generation(NOW)
    assert group.subscribed_topics is None
    assert group.is_subscribed_to("anything")


def test_subscription_of_a_newer_version_without_its_fields_is_read() -> None:
    """Some clients say version 1 and send version 0."""
    metadata = b"\x00\x01" + encode_subscription(["a"], version=0)[2:]
    group = a_group(a_member("m1", [("range", metadata)]))
    group.init_next_generation(NOW)
    assert group.subscribed_topics == {"a"}
    assert not group.is_subscribed_to("b")


def test_other_kinds_of_groups_have_no_topics() -> None:
    group = a_group(a_member("m1", [("compatible", b"x")], protocol_type="connect"))
    group.init_next_generation(NOW)
    assert group.subscribed_topics is None


# --- static members


def test_static_member_goes_on_under_another_member_id() -> None:
    member = a_member("old", instance="i")
    group = a_group(member, joined=False)
    member.assignment = b"kept"
    assert group.replace_group_instance("old", "new") is member
    assert (member.member_id, member.assignment) == ("new", b"kept")
    assert list(group.members) == ["new"]
    assert group.leader_id == "new"
    assert group.static_members == {"i": "new"}


def test_who_waits_under_the_old_id_is_fenced() -> None:
    joins: list[JoinGroupResult] = []
    syncs: list[SyncGroupResult] = []
    member = a_member("old", instance="i")
    group = GroupMetadata("g", NOW, PREPARING_REBALANCE)
    group.add(member, joins.append)
    member.answer_sync = syncs.append
    group.replace_group_instance("old", "new")
    assert [one.error_code for one in joins] == [ErrorCode.FENCED_INSTANCE_ID]
    assert [one.error_code for one in syncs] == [ErrorCode.FENCED_INSTANCE_ID]
    assert group.awaiting_join_count == 0


def test_only_another_process_with_the_same_instance_id_is_fenced() -> None:
    group = a_group(a_member("m1", instance="i"))
    assert group.is_static_member_fenced("other", "i")
    assert not group.is_static_member_fenced("m1", "i")
    assert not group.is_static_member_fenced("m1", None)
    assert not group.is_static_member_fenced("m1", "j")


def test_instance_id_is_free_again_when_its_member_is_removed() -> None:
    group = a_group(a_member("m1", instance="i"))
    group.remove("m1")
    assert group.static_members == {}


# --- what others see


def test_only_a_stable_group_shows_metadata_and_assignments() -> None:
    member = a_member("m1")
    group = a_group(member)
    group.init_next_generation(NOW)
    member.assignment = b"assigned"
    unsettled = group.summary()
    assert (unsettled.state, unsettled.protocol) == ("CompletingRebalance", "")
    assert unsettled.members[0].assignment == b""
    group.transition_to(STABLE, NOW)
    summary = group.summary()
    assert (summary.state, summary.protocol) == ("Stable", "range")
    assert summary.members[0].metadata == RANGE[1]
    assert summary.members[0].assignment == b"assigned"


def test_member_in_need_of_us_needs_no_heartbeat_unless_it_is_new() -> None:
    member = a_member("m1")
    assert not member.needs_no_heartbeat
    member.answer_sync = lambda _: None
    assert member.needs_no_heartbeat
    member.is_new = True
    assert not member.needs_no_heartbeat


def test_member_matches_equal_protocols_in_the_same_order_only() -> None:
    member = a_member("m1", [RANGE, STICKY])
    assert member.matches([RANGE, STICKY])
    assert not member.matches([STICKY, RANGE])
    assert not member.matches([RANGE])
    assert not member.matches([("range", b"other"), STICKY])


def test_protocol_that_a_member_does_not_support_is_our_mistake() -> None:
    with pytest.raises(ValueError, match="does not support the protocol sticky"):
        a_member("m1").metadata("sticky")
    with pytest.raises(ValueError, match="supports none of"):
        a_member("m1").vote({"sticky"})
