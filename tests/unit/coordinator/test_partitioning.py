"""Which partition looks after a key: Java's arithmetic, on which all brokers must agree."""

import re

import pytest

from kafkalike.coordinator.partitioning import java_hash_code, partition_for
from tests.support.golden import LOGDIR


@pytest.mark.parametrize(
    ("text", "hash_code"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("polygenelubricants", -2147483648),
        ("console-consumer-22959", 159384828),
        ("größe", 98762257),
        ("雪", 38634),
        ("😀", 1772899),
    ],
)
def test_hash_code_is_javas(text: str, hash_code: int) -> None:
    assert java_hash_code(text) == hash_code


def test_smallest_hash_code_has_no_absolute_value_and_goes_to_partition_0() -> None:
    assert partition_for("polygenelubricants", 50) == 0


@pytest.mark.parametrize("partition", range(4))
def test_groups_of_a_real_broker_are_in_the_partition_that_we_would_choose(partition: int) -> None:
    dump = (LOGDIR / f"dump/__consumer_offsets-{partition}.txt").read_text()
    groups = set(re.findall(r"key: (?:group_metadata|offset_commit)::group=([^, ]+)", dump))
    assert groups
    assert {partition_for(group, 4) for group in groups} == {partition}


@pytest.mark.parametrize("partition", range(3))  # the capture has none in the last
def test_transactional_ids_of_a_real_broker_are_where_we_would_look(partition: int) -> None:
    dump = (LOGDIR / f"dump/__transaction_state-{partition}.txt").read_text()
    ids = set(re.findall(r"key: transaction_metadata::transactionalId=(\S+)", dump))
    assert ids
    assert {partition_for(one, 4) for one in ids} == {partition}
