"""A short run of faults under a transactional copy: the copy is the source, once and in order."""

from pathlib import Path

import pytest

from tests.chaos.run import run

pytestmark = pytest.mark.ensemble

SHORT = (
    ("kill", "transaction coordinator"),
    ("pause", "group coordinator"),
    ("kill", "leader"),
    ("stop", "group coordinator"),
    ("pause", "transaction coordinator"),
)


def test_copy_is_exact_whoever_dies_and_whoever_takes_over(tmp_path: Path) -> None:
    """M31, M46: the group and its transactions go on when their coordinators and leaders die."""
    report = run(
        tmp_path,
        seed=2,
        faults=iter(SHORT),
        is_over=lambda rounds: rounds == len(SHORT),
        workload="transactions",
    )
    assert report.problems == []
    assert report.verdict is not None
    assert report.verdict.is_good, str(report.verdict)
    assert report.acked > 100
