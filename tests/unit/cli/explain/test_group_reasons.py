from typing import Any

import pytest

from kafkalike.cli.explain.finding import Level
from kafkalike.cli.explain.group_history import Generation, Member, generations
from kafkalike.cli.explain.group_reasons import GroupFacts, explain_group
from kafkalike.cli.tools.group_text import PartitionAssignment
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.coordinator_records import (
    encode_group_metadata_key,
    encode_group_metadata_value,
    encode_offset_commit_key,
)
from kafkalike.protocol.messages import coordinator_records

BEGAN_MS = 1_600_000_000_000


def member(name: str, *partitions: int, **changes: Any) -> Member:
    known: dict[str, Any] = {
        "member_id": f"{name}-id",
        "client_id": name,
        "host": "/10.0.0.1",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 300_000,
        "partitions": [TopicPartition("t", number) for number in partitions],
    }
    return Member(**known | changes)


def generation(number: int, *members: Member) -> Generation:
    return Generation(
        number=number,
        protocol="range",
        began_ms=BEGAN_MS,
        members={one.member_id: one for one in members},
    )


def row(partition: int, offset: int | None, end: int, client: str | None) -> PartitionAssignment:
    return PartitionAssignment(
        group="g",
        topic="t",
        partition=partition,
        offset=offset,
        log_end_offset=end,
        consumer_id=client,
        host=client,
        client_id=client,
    )


def words(about: str, state: str, *members: Member, **changes: Any) -> list[str]:
    facts = GroupFacts(
        group="g",
        state=state,
        coordinator=1,
        offsets_partition=7,
        members={one.member_id: one for one in members},
        **changes,
    )
    return [found.words for found in explain_group(facts) if found.about == about]


def test_coordinator_is_the_leader_of_the_groups_partition() -> None:
    assert words("coordinator", "Empty") == [
        "Broker 1 coordinates it, as the leader of __consumer_offsets-7."
    ]


def test_new_member_is_the_reason_of_a_rebalance() -> None:
    one, two = member("one"), member("two")
    (found,) = words("state", "PreparingRebalance", one, two, history=[generation(1, one)])
    assert found.startswith("It rebalances, because two at 10.0.0.1 wants to join.")
    assert "It waits until one at 10.0.0.1 joined again" in found
    assert "after 300 s (max.poll.interval.ms)" in found


def test_lost_member_is_the_reason_of_a_rebalance() -> None:
    one, two = member("one"), member("two", group_instance_id="seat-2")
    (found,) = words("state", "PreparingRebalance", one, history=[generation(1, one, two)])
    assert "because two (static member seat-2) left, or was not heard from for 10 s" in found


def test_same_members_have_asked_for_the_rebalance_themselves() -> None:
    one = member("one")
    (found,) = words("state", "PreparingRebalance", one, history=[generation(1, one)])
    assert "a member asked for it: its subscription changed" in found


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("Empty", "It is empty since 2020-"),
        ("CompletingRebalance", "0 members joined, and wait"),
        ("Dead", "It is dead"),
    ],
)
def test_every_state_is_explained(state: str, said: str) -> None:
    (found,) = words("state", state, history=[generation(3)])
    assert said in found


def test_stable_group_tells_since_when() -> None:
    one = member("one", 0)
    (found,) = words("state", "Stable", one, history=[generation(3, one)], protocol="range")
    assert found.startswith("It is stable since 2020-")
    assert found.endswith("(generation 3): 1 member, assignor range.")


def test_generations_say_who_came_and_who_went() -> None:
    one, two = member("one"), member("two")
    told = words(
        "generation",
        "Stable",
        two,
        history=[
            generation(1, one),
            generation(2, one, two),
            generation(3, two),
            generation(4, two),
        ],
    )
    assert told[0].endswith("with 1 member: one at 10.0.0.1.")
    assert told[1].endswith("with 2 members: two at 10.0.0.1 joined.")
    assert "with 1 member: one at 10.0.0.1 left" in told[2]
    assert told[3].endswith("a member asked for it, or the topics changed.")


def test_history_that_cannot_be_read_is_said_to_be_missing() -> None:
    (found,) = words("history", "Empty", history_problem="you may not")
    assert found == "What happened before is not known: you may not."


def test_member_without_partitions_is_told_why() -> None:
    (found,) = words("idle", "Stable", member("one", 0), member("two"), partition_count=1)
    assert found == "two at 10.0.0.1 has nothing to read: there is 1 partition for 2 members."


def test_lag_names_the_worst_partitions() -> None:
    rows = [row(0, 5, 10, "c"), row(1, 0, 10, "c"), row(2, None, 3, "c")]
    assert words("lag", "Stable", rows=rows) == [
        "It is 15 records behind: t-1 (10), t-0 (5).",
        "There is no committed offset for t-2 yet.",
    ]
    assert words("lag", "Stable", rows=[row(0, 10, 10, "c")]) == [
        "It has read, and committed, everything."
    ]
    assert words("lag", "Stable", rows=[row(0, None, 10, "c")]) == [
        "It has committed no offset yet."
    ]


def test_partition_that_no_member_reads_is_named() -> None:
    (found,) = words("unread", "Stable", rows=[row(0, 1, 1, "-")])
    assert found.startswith("No member reads t-0")


def _record(group: str, number: int, *names: str) -> tuple[bytes, bytes]:
    value = coordinator_records.GroupMetadataValue(
        protocol_type="consumer",
        generation=number,
        protocol="range",
        leader=None,
        current_state_timestamp=BEGAN_MS,
        members=[
            coordinator_records.MemberMetadata(
                member_id=name,
                group_instance_id=None,
                client_id=name,
                client_host="/h",
                rebalance_timeout=2,
                session_timeout=1,
                subscription=b"",
                assignment=b"",
            )
            for name in names
        ],
    )
    return encode_group_metadata_key(group), encode_group_metadata_value(value, 3)


def test_generations_are_read_from_the_coordinators_log() -> None:
    records = [
        _record("g", 1, "a"),
        _record("other", 9, "x"),
        (encode_offset_commit_key("g", "t", 0), b"offset"),
        (b"\x7f\xff", None),
        (None, None),
        _record("g", 2, "a", "b"),
    ]
    found = generations("g", records)
    assert [(one.number, sorted(one.members)) for one in found] == [(1, ["a"]), (2, ["a", "b"])]
    assert found[0].began_ms == BEGAN_MS


def test_group_that_was_deleted_begins_anew() -> None:
    key, value = _record("g", 5, "a")
    found = generations("g", [(key, value), (key, None), _record("g", 1, "b")])
    assert [one.number for one in found] == [1]


def test_level_of_a_stable_group_is_fine() -> None:
    facts = GroupFacts(group="g", state="Stable", coordinator=1, offsets_partition=0, members={})
    assert {found.level for found in explain_group(facts)} == {Level.FINE, Level.NOTE}
