"""Client libraries beside each other on one broker: ours, kafka-python and confluent-kafka.

Each writes topics of its own, record by record, and reads them again; records per second say how
fast, records per CPU second of the client how dear.
"""

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import click
from confluent_kafka.admin import AdminClient, NewTopic

from scripts.benchmark.library_client import LIBRARIES, Arguments, Figures
from scripts.benchmark.report import Report
from scripts.benchmark.targets import Target, kafkalike

_PARTITIONS = 4
_RECORDS = {100: 400_000, 1024: 150_000}
_TIMEOUT_S = 200


def measure_libraries(rounds: int, *, is_quick: bool) -> Report:
    """Let the libraries take turns, all of them in every round."""
    report = Report(LIBRARIES)
    turns = list(product(range(1, rounds + 1), _RECORDS, LIBRARIES))
    with (
        tempfile.TemporaryDirectory(prefix="kafkalike-bench-") as scratch,
        kafkalike(Path(scratch), 1) as target,
    ):
        for number, size, library in turns:
            click.echo(f"[measure {number}/{rounds}] {library}: {size} B")
            arguments = {
                "bootstrap": target.bootstrap_servers,
                "topic": _new_topic(target, f"bench-{number}-{size}-{library}"),
                "partitions": _PARTITIONS,
                "records": _RECORDS[size] // 4 if is_quick else _RECORDS[size],
                "record_bytes": size,
            }
            for kind in ("produce", "consume"):
                report.add(library, f"{kind} {size} B", _run(library, kind, arguments))
    return report


def _new_topic(target: Target, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": target.bootstrap_servers})
    for future in admin.create_topics([NewTopic(name, _PARTITIONS, 1)]).values():
        future.result(30)
    return name


def _run(library: str, kind: str, arguments: Arguments) -> Figures:
    command = [sys.executable, "-m", "scripts.benchmark.library_client"]
    client = subprocess.Popen(
        [*command, library, kind, json.dumps(arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdout is not None
    if client.stdout.readline() != "ready\n":
        raise RuntimeError(f"{library} did not start")
    try:
        output, _ = client.communicate("\n", timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        client.kill()
        raise
    if client.returncode != 0:
        raise RuntimeError(f"{library} failed: {output}")
    return dict(json.loads(output))
