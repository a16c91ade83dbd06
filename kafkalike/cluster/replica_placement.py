"""Which brokers shall hold the replicas of new partitions (Kafka's `AdminUtils`), rack-aware.

The first replicas of partitions go round the brokers from a random one; the further replicas follow
at a shift that grows with every round, so that the load of a lost broker spreads over all others.
With racks the list alternates between them, and no rack gets a second replica before each has one.
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from kafkalike.protocol.errors import (
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    UnknownServerError,
)


class BrokerMetadata(NamedTuple):
    """A broker that replicas can be placed on."""

    id: int
    rack: str | None = None


def assign_replicas_to_brokers(
    brokers: Sequence[BrokerMetadata],
    partition_count: int,
    replication_factor: int,
    random: Random,
    *,
    fixed_start_index: int | None = None,
    start_partition_id: int = 0,
) -> dict[int, tuple[int, ...]]:
    """Place partitions `start_partition_id` and following; the first replica is the preferred one.

    To add partitions to a topic, `fixed_start_index` is the place of partition 0's first replica.
    """
    if partition_count <= 0:
        raise InvalidPartitionsError("Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise InvalidReplicationFactorError("Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        raise InvalidReplicationFactorError(
            f"Replication factor: {replication_factor} larger than available brokers: "
            f"{len(brokers)}."
        )
    racks = {broker.id: broker.rack for broker in brokers if broker.rack is not None}
    if racks and len(racks) < len(brokers):
        raise UnknownServerError(
            "Not all brokers have rack information for replica rack aware assignment."
        )
    placement = _Placement(
        rack_alternated_brokers(racks) if racks else [broker.id for broker in brokers], racks
    )
    start, shift = _start_and_shift(random, len(brokers), fixed_start_index)
    assignment = {}
    for partition in range(start_partition_id, start_partition_id + partition_count):
        if partition > 0 and partition % len(brokers) == 0:
            shift += 1
        assignment[partition] = placement.replicas(partition + start, shift, replication_factor)
    return assignment


def _start_and_shift(random: Random, count: int, fixed: int | None) -> tuple[int, int]:
    if fixed is not None:
        return fixed, fixed
    return random.randrange(count), random.randrange(count)


def rack_alternated_brokers(racks: Mapping[int, str]) -> list[int]:
    """List the brokers so that neighbours are in different racks as long as possible."""
    by_rack: dict[str, list[int]] = {}
    for broker_id, rack in sorted(racks.items()):
        by_rack.setdefault(rack, []).append(broker_id)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    rounds = range(max(map(len, columns)))
    return [column[i] for i in rounds for column in columns if i < len(column)]


class _Placement:
    """Brokers in the order in which they are filled, and their racks (none if not rack-aware)."""

    def __init__(self, brokers: Sequence[int], racks: Mapping[int, str]) -> None:
        self._brokers = brokers
        self._racks = racks
        self._rack_count = len(set(racks.values()))

    def replicas(self, first_index: int, shift: int, replication_factor: int) -> tuple[int, ...]:
        """Choose the replicas of one partition."""
        first = first_index % len(self._brokers)
        chosen = [self._brokers[first]]
        base = shift * self._rack_count if self._racks else shift
        step = 0
        while len(chosen) < replication_factor:
            candidate = self._brokers[self._replica_index(first, base + step)]
            if self._is_eligible(candidate, chosen):
                chosen.append(candidate)
            step += 1
        return tuple(chosen)

    def _replica_index(self, first: int, shift: int) -> int:
        count = len(self._brokers)
        return (first + 1 + shift % (count - 1)) % count

    def _is_eligible(self, candidate: int, chosen: Sequence[int]) -> bool:
        if not self._racks:
            return True
        used_racks = {self._racks[broker_id] for broker_id in chosen}
        is_new_rack = self._racks[candidate] not in used_racks
        return candidate not in chosen and (is_new_rack or len(used_racks) == self._rack_count)
