"""A short run of faults under load: nothing acknowledged is lost, nothing is there twice."""

from pathlib import Path

import pytest

from tests.chaos.run import run

pytestmark = pytest.mark.ensemble

SHORT = (
    ("kill", "leader"),
    ("pause", "leader"),
    ("kill", "controller"),
    ("stop", "follower"),
    ("kill", "zookeeper leader"),
)


def test_no_acknowledged_record_is_lost_whoever_dies(tmp_path: Path) -> None:
    """M34, M38, M39, M40, M46, M49: leaders, controller, follower and ZooKeeper die under load."""
    report = run(tmp_path, seed=1, faults=iter(SHORT), is_over=lambda rounds: rounds == len(SHORT))
    assert report.problems == []
    assert report.verdict is not None
    assert report.verdict.is_good, str(report.verdict)
    assert report.acked > 100
