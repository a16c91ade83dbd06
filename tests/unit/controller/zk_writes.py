"""Writes to ZooKeeper without what differs from run to run."""

from typing import Any


def masked(write: dict[str, Any]) -> dict[str, Any]:
    """Leave out who wrote when, and the time at which a controller was elected."""
    kept = {k: v for k, v in write.items() if k not in ("zxid", "ms", "session", "timeout")}
    if "ops" in kept:
        kept["ops"] = [masked(op) for op in kept["ops"]]
    if kept.get("path") == "/controller":
        kept["data"] = "who and when"
    return kept
