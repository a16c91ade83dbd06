"""What is measured: one line per scenario, and how much of it."""

from dataclasses import dataclass

RATE_PER_S = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One measurement: `produce` (and `consume` of the same topic), `requests` or `latency`."""

    kind: str
    record_bytes: int
    acks: str
    partitions: int
    records: int
    is_consumed: bool = False

    @property
    def label(self) -> str:
        """A short name for tables."""
        shape = f"{self.record_bytes} B, {self.partitions} part., acks={self.acks}"
        return f"{self.kind} {shape}"

    @property
    def consume_label(self) -> str:
        """The name of the reading half."""
        return f"consume {self.record_bytes} B, {self.partitions} part."


def scenarios(*, is_quick: bool, is_cluster: bool) -> list[Scenario]:
    """All scenarios of a run; the quick one has fewer and shorter ones."""
    if is_cluster:
        return _cluster_scenarios(is_quick=is_quick)
    scale = 4 if is_quick else 1
    records = {100: 4_000_000 // scale, 1024: 600_000 // scale}
    chosen = [
        Scenario(
            kind="produce",
            record_bytes=record_bytes,
            acks=acks,
            partitions=partitions,
            records=records[record_bytes],
            is_consumed=acks == "1",
        )
        for record_bytes in (100, 1024)
        for partitions in (1, 12)
        for acks in ("0", "1", "all")
        if not is_quick or (partitions == 12 and acks == "1")
    ]
    # One record a request: what a request costs, apart from what bytes cost.
    chosen.append(
        Scenario(kind="requests", record_bytes=100, acks="1", partitions=1, records=20_000 // scale)
    )
    chosen.append(
        Scenario(kind="latency", record_bytes=100, acks="1", partitions=1, records=20_000 // scale)
    )
    return chosen


def _cluster_scenarios(*, is_quick: bool) -> list[Scenario]:
    """What replication costs: everything with acks=all, as many replicas as brokers."""
    scale = 4 if is_quick else 1
    chosen = [
        Scenario(
            kind="produce",
            record_bytes=record_bytes,
            acks="all",
            partitions=6,
            records=records // scale,
            is_consumed=True,
        )
        for record_bytes, records in ((100, 3_000_000), (1024, 400_000))
    ]
    chosen.append(
        Scenario(
            kind="latency", record_bytes=100, acks="all", partitions=6, records=20_000 // scale
        )
    )
    return chosen


def warm_up(*, is_quick: bool) -> list[Scenario]:
    """Load before the measurement, long enough for a JVM to compile its hot path."""
    scale = 4 if is_quick else 1
    return [
        Scenario(
            kind="produce",
            record_bytes=record_bytes,
            acks="1",
            partitions=12,
            records=records // scale,
            is_consumed=True,
        )
        for _ in range(2)
        for record_bytes, records in ((100, 2_000_000), (1024, 300_000))
    ] + [
        Scenario(
            kind="requests", record_bytes=100, acks="1", partitions=1, records=10_000 // scale
        ),
        Scenario(kind="latency", record_bytes=100, acks="1", partitions=1, records=2_000 // scale),
    ]
