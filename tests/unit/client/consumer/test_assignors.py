"""Who reads what: the assignors, as plain functions."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalike.client.config import ConfigError
from kafkalike.client.consumer.assignors.assignor import Assignment, Assignor, MemberSubscription
from kafkalike.client.consumer.assignors.choice import make_assignors
from kafkalike.client.consumer.assignors.range_assignor import RangeAssignor
from kafkalike.client.consumer.assignors.round_robin_assignor import RoundRobinAssignor
from kafkalike.client.consumer.assignors.sticky_assignor import (
    CooperativeStickyAssignor,
    StickyAssignor,
    decode_past,
    encode_past,
)
from kafkalike.model.topic_partition import TopicPartition as TP

COUNTS = {"a": 3, "b": 3}
TWO = {"m1": MemberSubscription(["a", "b"]), "m2": MemberSubscription(["a", "b"])}


def numbers(assignment: Assignment) -> dict[str, list[str]]:
    return {member: [str(tp) for tp in found] for member, found in assignment.items()}


def test_range_cuts_each_topic() -> None:
    assert numbers(RangeAssignor().assign(COUNTS, TWO)) == {
        "m1": ["a-0", "a-1", "b-0", "b-1"],
        "m2": ["a-2", "b-2"],
    }


def test_round_robin_deals_all_out() -> None:
    assert numbers(RoundRobinAssignor().assign(COUNTS, TWO)) == {
        "m1": ["a-0", "a-2", "b-1"],
        "m2": ["a-1", "b-0", "b-2"],
    }


def test_static_members_come_first_and_by_their_instance() -> None:
    members = {
        "zz": MemberSubscription(["a"], group_instance_id="1"),
        "aa": MemberSubscription(["a"]),
        "mm": MemberSubscription(["a"], group_instance_id="2"),
    }
    found = RangeAssignor().assign({"a": 3}, members)
    assert numbers(found) == {"zz": ["a-0"], "mm": ["a-1"], "aa": ["a-2"]}


members_of = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.sets(st.sampled_from("xyz"), min_size=1),
    min_size=1,
    max_size=6,
)
counts_of = st.dictionaries(st.sampled_from("xyz"), st.integers(0, 9))
ASSIGNORS = [RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor]


@pytest.mark.parametrize("kind", ASSIGNORS)
@given(counts=counts_of, topics=members_of)
def test_every_partition_has_one_owner_that_wants_it(
    kind: type[Assignor], counts: Mapping[str, int], topics: Mapping[str, set[str]]
) -> None:
    members = {member: MemberSubscription(sorted(wanted)) for member, wanted in topics.items()}
    found = kind().assign(counts, members)
    owners = [(tp, member) for member, owned in found.items() for tp in owned]
    assert all(tp.topic in topics[member] for tp, member in owners)
    wanted_topics = {topic for wanted in topics.values() for topic in wanted}
    expected = {TP(t, p) for t, n in counts.items() if t in wanted_topics for p in range(n)}
    assert sorted(tp for tp, _ in owners) == sorted(expected)
    assert set(found) == set(members)


@pytest.mark.parametrize("kind", [RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor])
@given(counts=counts_of, members=st.integers(1, 7))
def test_equal_subscriptions_are_balanced(
    kind: type[Assignor], counts: Mapping[str, int], members: int
) -> None:
    equal = {f"m{n}": MemberSubscription(["x", "y", "z"]) for n in range(members)}
    sizes = [len(owned) for owned in kind().assign(counts, equal).values()]
    assert max(sizes) - min(sizes) <= 1


@given(counts=counts_of, topics=members_of)
def test_sticky_leaves_no_partition_with_one_who_has_two_more(
    counts: Mapping[str, int], topics: Mapping[str, set[str]]
) -> None:
    members = {member: MemberSubscription(sorted(wanted)) for member, wanted in topics.items()}
    found = StickyAssignor().assign(counts, members)
    for member, owned in found.items():
        for tp in owned:
            others = [m for m in members if tp.topic in topics[m]]
            assert len(found[member]) - min(len(found[m]) for m in others) <= 1


def sticky_round(past: Mapping[str, list[TP]], members: list[str], count: int) -> Assignment:
    subscriptions = {
        member: MemberSubscription(["a"], user_data=encode_past(past.get(member, []), 1))
        for member in members
    }
    return StickyAssignor().assign({"a": count}, subscriptions)


def test_sticky_moves_only_what_a_new_member_needs() -> None:
    before = sticky_round({}, ["m1", "m2"], 6)
    after = sticky_round(before, ["m1", "m2", "m3"], 6)
    assert {member: len(owned) for member, owned in after.items()} == {"m1": 2, "m2": 2, "m3": 2}
    assert set(after["m1"]) < set(before["m1"])
    assert set(after["m2"]) < set(before["m2"])


def test_sticky_keeps_all_that_is_left_when_a_member_goes() -> None:
    before = sticky_round({}, ["m1", "m2", "m3"], 6)
    after = sticky_round(before, ["m1", "m3"], 6)
    assert set(before["m1"]) < set(after["m1"])
    assert set(before["m3"]) < set(after["m3"])


def test_of_two_that_claim_a_partition_the_later_generation_has_it() -> None:
    subscriptions = {
        "old": MemberSubscription(["a"], user_data=encode_past([TP("a", 0)], 3)),
        "new": MemberSubscription(["a"], user_data=encode_past([TP("a", 0)], 4)),
    }
    found = StickyAssignor().assign({"a": 2}, subscriptions)
    assert found["new"] == [TP("a", 0)]


def test_cooperative_takes_nothing_from_who_still_has_it() -> None:
    """KIP-429: what moves is given up first."""
    everything = [TP("a", n) for n in range(4)]
    members = {
        "m1": MemberSubscription(["a"], owned=everything),
        "m2": MemberSubscription(["a"]),
    }
    first = CooperativeStickyAssignor().assign({"a": 4}, members)
    assert len(first["m1"]) == 2
    assert first["m2"] == []
    members["m1"] = MemberSubscription(["a"], owned=first["m1"])
    second = CooperativeStickyAssignor().assign({"a": 4}, members)
    assert second["m1"] == first["m1"]
    assert len(second["m2"]) == 2


@given(st.lists(st.builds(TP, st.sampled_from(["a", "ü"]), st.integers(0, 9)), unique=True))
def test_past_survives_the_user_data(partitions: list[TP]) -> None:
    had, generation = decode_past(encode_past(partitions, 5))
    assert (sorted(had), generation) == (sorted(partitions), 5)


@given(st.binary(max_size=40))
def test_user_data_of_others_is_no_past_and_no_error(data: bytes) -> None:
    decode_past(data)


def test_assignors_are_named_in_many_ways() -> None:
    java = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    made = make_assignors(["range", java, RoundRobinAssignor, StickyAssignor()])
    assert [assignor.name for assignor in made] == [
        "range",
        "cooperative-sticky",
        "roundrobin",
        "sticky",
    ]
    assert [a.name for a in make_assignors("range, sticky")] == ["range", "sticky"]
    with pytest.raises(ConfigError, match="roundrobin"):
        make_assignors("fair")
