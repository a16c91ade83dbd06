from typing import Any

import pytest

from kafkalike.cli.explain.finding import Level, counted, listed
from kafkalike.cli.explain.partition_reasons import EpochStart, PartitionFacts, explain_partition
from kafkalike.model.topic_partition import TopicPartition

ENDS = {1: 100, 2: 100, 3: 100}


def facts(**changes: Any) -> PartitionFacts:
    known: dict[str, Any] = {
        "tp": TopicPartition("t", 0),
        "leader": 1,
        "leader_epoch": 0,
        "epoch_start": EpochStart(0),
        "replicas": [1, 2, 3],
        "isr": [1, 2, 3],
        "live_brokers": frozenset({1, 2, 3}),
        "log_end_offsets": ENDS,
    }
    return PartitionFacts(**known | changes)


def words(about: str, **changes: Any) -> list[str]:
    return [found.words for found in explain_partition(facts(**changes)) if found.about == about]


def level(about: str, **changes: Any) -> Level:
    (found,) = [one for one in explain_partition(facts(**changes)) if one.about == about]
    return found.level


def test_partition_that_is_well_has_only_a_leader() -> None:
    (found,) = explain_partition(facts())
    assert found.level is Level.FINE
    assert found.words == (
        "Broker 1 leads, since leader epoch 0: from offset 0 on, nothing was written since."
    )


def test_leader_leads_since_the_first_record_of_its_epoch() -> None:
    start = EpochStart(70, 1_600_000_000_000)
    (found,) = words("leader", leader_epoch=3, epoch_start=start)
    assert found.startswith(
        "Broker 1 leads, since leader epoch 3: from offset 70 on, written 2020-"
    )


def test_leader_epoch_that_nobody_tells_is_left_out() -> None:
    assert words("leader", epoch_start=None) == ["Broker 1 leads, since leader epoch 0."]
    assert words("leader", leader_epoch=-1) == ["Broker 1 leads."]


def test_replica_of_a_broker_that_is_away_is_not_in_sync() -> None:
    live = frozenset({1, 2})
    (found,) = words("under-replicated", isr=[1, 2], live_brokers=live)
    assert found.startswith("Broker 3 is not in sync: it is away.")


def test_replica_on_a_failed_disk_is_not_in_sync() -> None:
    (found,) = words("under-replicated", isr=[1, 2], offline_replicas=frozenset({3}))
    assert "log directory with its copy has failed" in found


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"log_end_offsets": ENDS | {3: 99}}, "it is catching up, 1 record to go"),
        ({"log_end_offsets": ENDS}, "it has every record, and the leader is about to take it back"),
        ({"log_end_offsets": {1: 5}}, "it is there, but does not say how far it is"),
        (
            {"log_end_offsets": ENDS | {3: 50}, "adding": [3]},
            "its first copy is being made, 50 records to go",
        ),
    ],
)
def test_replica_that_is_there_tells_how_far_it_is(changes: dict[str, Any], said: str) -> None:
    (found,) = words("under-replicated", isr=[1, 2], **changes)
    assert said in found


def test_acks_all_is_refused_below_the_minimum() -> None:
    changes = {"isr": [1], "min_isr": 2, "min_isr_source": "set for the topic"}
    (found,) = words("acks=all", **changes)
    assert found == (
        "acks=all is refused (NOT_ENOUGH_REPLICAS): min.insync.replicas is 2 (set for the topic),"
        " and only 1 replica (1) is in sync. It works again when broker 2 or 3 is in sync."
    )
    assert level("acks=all", **changes) is Level.PROBLEM


def test_acks_all_works_at_the_minimum_with_a_warning() -> None:
    changes: dict[str, Any] = {"isr": [1, 2], "min_isr": 2}
    assert "works, until one more replica is lost" in words("acks=all", **changes)[0]
    assert level("acks=all", **changes) is Level.NOTE
    assert not words("acks=all", isr=[1, 2, 3], min_isr=3)


def test_minimum_above_the_number_of_replicas_refuses_for_ever() -> None:
    (found,) = words("acks=all", min_isr=4)
    assert found.startswith("acks=all is always refused")


def test_partition_without_leader_names_who_must_come_back() -> None:
    changes = {"leader": None, "isr": [3], "live_brokers": frozenset({1, 2})}
    (found,) = words("leader", **changes)
    assert "only broker 3 has all acknowledged records, and is away. Start it again." in found
    assert "--election-type unclean lets broker 1 or 2 lead" in found
    assert not words("acks=all", **changes, min_isr=2)
    (found,) = words("leader", **changes, allows_unclean_election=True)
    assert found.endswith("Or wait: an unclean election is allowed.")
    (found,) = words("leader", **changes | {"live_brokers": frozenset()})
    assert found.endswith("No other replica is there either.")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"live_brokers": frozenset({2, 3})}, "is meant to lead and is away"),
        ({"isr": [2, 3]}, "is meant to lead and is not in sync yet"),
        ({}, "kafka-leader-election --election-type preferred does it now"),
    ],
)
def test_another_leader_than_the_preferred_one_has_a_reason(
    changes: dict[str, Any], said: str
) -> None:
    assert said in words("preferred leader", leader=2, **changes)[0]


def test_reassignment_says_who_comes_and_who_goes() -> None:
    (found,) = words("reassignment", adding=[4, 5], removing=[1])
    assert found == "It is on the move: copies are made on 4 and 5, and given up on 1."


def test_lists_and_counts_read_as_people_write_them() -> None:
    assert listed([1]) == "1"
    assert listed([1, 2, 3], "or") == "1, 2 or 3"
    assert listed([]) == "nobody"
    assert counted(1, "record") == "1 record"
    assert counted(2, "record") == "2 records"
