"""Kafka's own DumpLogSegments accepts what we write: all codecs and formats, after crashes too."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kafkalike.log.log import Log
from kafkalike.protocol.records.compression import CompressionType
from tests.support.apache_kafka import ToolResult
from tests.support.log_builder import (
    NOW_MS,
    a_batch,
    append,
    append_marker,
    batches_of,
    copy_of,
    open_log,
    records_of,
)

pytestmark = pytest.mark.kafka

SETTINGS: dict[str, Any] = {
    "segment_bytes": 4000,
    "index_interval_bytes": 200,
    "segment_index_bytes": 4096,
}
RunTool = Callable[..., ToolResult]


def fill(log: Log, **options: object) -> Log:
    for number in range(40):
        values = [b"%d-%d" % (number, index) * 5 for index in range(4)]
        append(
            log,
            a_batch(values, keys=[b"key"] * 4, timestamp=NOW_MS + number * 10, **options),
            leader_epoch=number // 10,
        )
    return log


def fill_with_producers(log: Log) -> Log:
    for number in range(40):
        append(log, a_batch([b"idempotent"] * 3, producer_id=1, base_sequence=number * 3))
        append(
            log,
            a_batch(
                [b"txn"] * 2,
                timestamp=NOW_MS + number,
                producer_id=2,
                producer_epoch=4,
                base_sequence=number * 2,
                is_transactional=True,
            ),
        )
        append_marker(log, 2, is_commit=number % 3 > 0, producer_epoch=4)
    return log


def codec_log(codec: CompressionType) -> Callable[[Path], Log]:
    def make(directory: Path) -> Log:
        return fill(open_log(directory / f"{codec.name.lower()}-0", **SETTINGS), compression=codec)

    return make


def format_log(magic: int, version: str, codec: CompressionType) -> Callable[[Path], Log]:
    def make(directory: Path) -> Log:
        log = open_log(directory / f"v{magic}-0", message_format_version=version, **SETTINGS)
        return fill(log, magic=magic, compression=codec)

    return make


def recovered_log(directory: Path) -> Log:
    log = fill_with_producers(open_log(directory / "whole" / "recovered-0", **SETTINGS))
    copy = copy_of(log, directory)
    with (copy / log.active_segment.log.path.name).open("ab") as file:
        file.write(bytes(a_batch([b"torn"] * 3)[:-5]))
    for path in copy.glob("*index"):
        path.unlink()
    return open_log(copy, had_clean_shutdown=False, **SETTINGS)


def followed_log(directory: Path) -> Log:
    """A follower writes what it fetched at once, here five batches at a time."""
    leader = fill(open_log(directory / "leader" / "followed-0", **SETTINGS))
    follower = open_log(directory / "followed-0", **SETTINGS)
    batches = [batch for _, batch in batches_of(leader)]
    for number in range(0, len(batches), 5):
        follower.append_as_follower(memoryview(b"".join(batches[number : number + 5])), NOW_MS)
    return follower


def truncated_log(directory: Path) -> Log:
    log = fill(open_log(directory / "truncated-0", **SETTINGS))
    log.truncate_to(log.log_end_offset // 2, NOW_MS)
    return fill(log)


LOGS: dict[str, Callable[[Path], Log]] = {
    **{codec.name: codec_log(codec) for codec in CompressionType},
    "v0": format_log(0, "0.9.0", CompressionType.NONE),
    "v1": format_log(1, "0.10.2", CompressionType.GZIP),
    "append-time": lambda directory: fill(
        open_log(directory / "t-0", message_timestamp_type="LogAppendTime", **SETTINGS)
    ),
    "recompressed": lambda directory: fill(
        open_log(directory / "t-0", compression_type="lz4", **SETTINGS)
    ),
    "producers": lambda directory: fill_with_producers(
        open_log(directory / "producers-0", **SETTINGS)
    ),
    "followed": followed_log,
    "recovered": recovered_log,
    "truncated": truncated_log,
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Log]:
    directory = tmp_path_factory.mktemp("written")
    return {name: make(directory / name) for name, make in LOGS.items()}


@pytest.fixture(scope="module")
def offsets(written: dict[str, Log]) -> dict[str, list[int]]:
    """The offsets of all records as we read them; then all logs are closed."""
    found = {name: [record.offset for record in records_of(log)] for name, log in written.items()}
    for log in written.values():
        log.close()
    return found


@pytest.fixture(scope="module")
def dump(
    apache_kafka_tools: RunTool, written: dict[str, Log], offsets: dict[str, list[int]]
) -> Callable[..., dict[str, str]]:
    """Run the tool once on the files of all logs; return what it says of each log."""

    @cache
    def run(kind: str, *options: str) -> dict[str, str]:
        files = [path for log in written.values() for path in log.directory.glob(f"*{kind}")]
        result = apache_kafka_tools(
            "kafka.tools.DumpLogSegments",
            *options,
            "--files",
            ",".join(map(str, sorted(files))),
            timeout=120,
        )
        assert result.exit_code == 0, result.stderr
        assert not result.stderr.strip()
        said = dict.fromkeys(written, "")
        for part in result.stdout.split("Dumping ")[1:]:
            path = Path(part.partition("\n")[0])
            (name,) = (name for name, log in written.items() if log.directory == path.parent)
            said[name] += part
        return said

    return run


COMPLAINTS = re.compile(
    r"mismatch|out of order|Non-consecutive|not found|corrupt|isvalid: false|Exception", re.I
)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_every_record_is_read_by_deep_iteration(
    name: str, offsets: dict[str, list[int]], dump: Callable[..., dict[str, str]]
) -> None:
    """M3: the stock tool opens every batch of every segment."""
    text = dump(".log", "--deep-iteration", "--print-data-log")[name]
    assert not COMPLAINTS.search(text)
    controls = {int(each) for each in re.findall(r"offset: (\d+) .*endTxnMarker", text)}
    found = [int(each) for each in re.findall(r"\| offset: (\d+)", text)]
    assert [offset for offset in found if offset not in controls] == offsets[name]
    assert text.count("isvalid: true") > 10


@pytest.mark.parametrize("name", sorted(LOGS))
@pytest.mark.parametrize("kind", [".index", ".timeindex"])
def test_indexes_agree_with_their_logs(
    name: str, kind: str, dump: Callable[..., dict[str, str]]
) -> None:
    """M4, M5: `--verify-index-only` compares every entry with the batch it points to."""
    text = dump(kind, "--verify-index-only")[name]
    assert text
    assert not COMPLAINTS.search(text)


@pytest.mark.parametrize("name", sorted(LOGS))
def test_indexes_pass_kafkas_sanity_check(
    name: str, written: dict[str, Log], dump: Callable[..., dict[str, str]]
) -> None:
    """M4: `--index-sanity-check` is what a Kafka broker checks when it loads a log."""
    text = dump(".index", "--index-sanity-check")[name]
    assert text.count("passed sanity check") == len(written[name].segments)


@pytest.mark.parametrize("name", ["producers", "recovered"])
def test_snapshots_and_aborted_transactions_are_read(
    name: str, dump: Callable[..., dict[str, str]]
) -> None:
    snapshots = dump(".snapshot")[name]
    assert "producerId: 2 producerEpoch: 4" in snapshots
    assert "producerId: 1 producerEpoch: 0" in snapshots
    assert dump(".txnindex")[name].count("producerId: 2") == 14
