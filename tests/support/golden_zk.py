"""What Apache Kafka 2.8.2 wrote to ZooKeeper: the golden tree and the golden log of writes."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN = Path(__file__).parents[1] / "golden"
WRITES = "zk_writes.jsonl"
WRITES_IBP_2_6 = "zk_writes_ibp2.6.jsonl"


class GoldenZnode(NamedTuple):
    """A znode as it stood at some moment, or as it was written."""

    source: str
    path: str
    data: bytes | None


@cache
def golden_writes(name: str = WRITES) -> tuple[dict[str, Any], ...]:
    """All entries of a log of writes."""
    return tuple(map(json.loads, (GOLDEN / name).read_text().splitlines()))


def writes_between(first_zxid: int, last_zxid: int, name: str = WRITES) -> list[dict[str, Any]]:
    """Entries by zxid, ends included, without what depends on the run: session, zxid and time."""
    return [
        {key: value for key, value in entry.items() if key not in ("session", "zxid", "ms")}
        for entry in golden_writes(name)
        if first_zxid <= entry["zxid"] <= last_zxid
    ]


def golden_znodes() -> Iterator[GoldenZnode]:
    """All znodes of the golden trees and all data in the logs of writes."""
    tree = json.loads((GOLDEN / "zk_tree.json").read_text())
    moments = tree["moments"]
    yield from _of_tree("steady", tree["steady"])
    yield from _of_tree("ibp_2.6", tree["ibp_2.6_with_racks"])
    for moment, difference in moments.items():
        yield from _of_tree(moment, difference["added"])
        yield from _of_tree(moment, difference["changed"])
    for name in (WRITES, WRITES_IBP_2_6):
        for entry in golden_writes(name):
            # Of a multi only the end can be seen: a broker's znode is first created without data.
            ops = entry.get("ops", [entry])
            written = {op["path"]: op["data"] for op in ops if op["op"] in ("create", "setData")}
            for path, data in written.items():
                yield GoldenZnode(f"{name}:{entry['zxid']}", path, _bytes(data))


def _of_tree(source: str, znodes: dict[str, Any]) -> Iterator[GoldenZnode]:
    for path, znode in znodes.items():
        yield GoldenZnode(source, path, _bytes(znode["data"]))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()
