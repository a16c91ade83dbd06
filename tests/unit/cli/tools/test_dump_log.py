import shlex
import shutil
import struct
from pathlib import Path

import pytest

from kafkalike.cli.tools.scala_text import hash_order, partition_hash, string_hash
from kafkalike.model.topic_partition import TopicPartition
from tests.support.cli_golden import GoldenCommands, Outcome, names_of, run_tool
from tests.support.golden import GOLDEN

CLEAN = GOLDEN / "logdir" / "clean"
DUMPS = sorted((GOLDEN / "logdir" / "dump").glob("*.txt"))


def dump(directory: Path, *arguments: str, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.chdir(directory)
    return run_tool("kafka-dump-log", arguments)


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.stem)
def test_the_recorded_log_directory_is_dumped_as_kafka_does(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, _, wanted = path.read_text().partition("\n")
    arguments = shlex.split(command.removeprefix("# kafka-dump-log"))
    found = dump(CLEAN, *arguments, monkeypatch=monkeypatch)
    assert found.stdout.splitlines() == wanted.splitlines()
    assert found.exit == 0


@pytest.mark.parametrize("name", names_of("dump-log"))
def test_recorded_commands_give_the_recorded_output(name: str) -> None:
    GoldenCommands(CLEAN, {}).compare(name)


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A copy of a partition whose files a test may damage."""
    return Path(shutil.copytree(CLEAN / "data-1a" / "codec-none-0", tmp_path / "codec-none-0"))


def test_a_segment_cut_off_tells_the_bytes_at_its_end(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = segment / "00000000000000000240.log"
    log.write_bytes(log.read_bytes()[:-10])
    found = dump(segment, "--files", log.name, monkeypatch=monkeypatch)
    assert found.stdout.splitlines()[-1] == f"Found 1271 invalid bytes at the end of {log.name}"


def test_a_damaged_batch_is_not_valid(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = segment / "00000000000000000240.log"
    data = bytearray(log.read_bytes())
    data[500] ^= 1
    log.write_bytes(data)
    found = dump(segment, "--files", log.name, monkeypatch=monkeypatch)
    assert [line.endswith("isvalid: true") for line in found.stdout.splitlines()[2:]] == (
        [False] + [True] * 5
    )


def test_an_index_that_does_not_fit_its_log_is_told(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = segment / "00000000000000000240.index"
    index.write_bytes(struct.pack(">iiii", 12, 1279, 29, 2560))
    found = dump(segment, "--files", index.name, "--verify-index-only", monkeypatch=monkeypatch)
    assert found.stdout == f"Dumping {index.name}\n"
    assert found.stderr.splitlines() == [
        f"Mismatches in :{index}",
        "  Index offset: 252, log offset: 259",
    ]


def test_a_time_index_that_does_not_fit_its_log_is_told(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = segment / "00000000000000000240.timeindex"
    index.write_bytes(struct.pack(">qiqiqi", 5, 19, 4, 29, 3, 1000))
    found = dump(segment, "--files", index.name, monkeypatch=monkeypatch)
    assert found.stdout.splitlines()[1:] == [
        "timestamp: 5 offset: 259",
        "timestamp: 4 offset: 269",
        "timestamp: 3 offset: 1240",
    ]
    assert found.stderr.splitlines() == [
        f"Found timestamp mismatch in :{index}",
        "  Index timestamp: 5, log timestamp: 1600000259000",
        "  Index timestamp: 4, log timestamp: 1600000269000",
        f"Found out of order timestamp in :{index}",
        "  Index timestamp: 4, Previously indexed timestamp: 5",
        "The following indexed offsets are not found in the log.",
        "Indexed offset: 1240, found log offset: -1",
    ]


def test_what_was_allocated_for_an_index_in_advance_is_not_printed(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = segment / "00000000000000000240.index"
    entries = len(index.read_bytes()) // 8
    index.write_bytes(index.read_bytes() + bytes(80))
    found = dump(segment, "--files", index.name, monkeypatch=monkeypatch)
    assert len(found.stdout.splitlines()) == 1 + entries


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_sanity_check_refuses_an_odd_length(
    segment: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = segment / f"00000000000000000240.{suffix}"
    index.write_bytes(index.read_bytes() + b"x")
    found = dump(segment, "--files", index.name, "--index-sanity-check", monkeypatch=monkeypatch)
    assert found.exit == 1
    assert "kafka.log.CorruptIndexException" in found.stderr
    assert "neither positive nor a multiple" in found.stderr


def test_record_metadata_can_be_left_out(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "00000000000000000240.log"
    arguments = ["--files", name, "--print-data-log", "--skip-record-metadata"]
    lines = dump(segment, *arguments, monkeypatch=monkeypatch).stdout.splitlines()
    assert lines[3].startswith(" payload: value-240-")
    assert lines[4].startswith("| key: k3 payload: value-241-")


def test_decoders_are_known_by_their_java_names(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "00000000000000000240.log"
    decoder = ["--value-decoder-class", "kafka.serializer.DefaultDecoder"]
    found = dump(segment, "--files", name, *decoder, monkeypatch=monkeypatch)
    assert " payload: [B@" in found.stdout.splitlines()[3]
    unknown = ["--value-decoder-class", "com.example.Decoder"]
    refused = dump(segment, "--files", name, *unknown, monkeypatch=monkeypatch)
    assert refused.exit == 1
    assert "ClassNotFoundException: com.example.Decoder" in refused.stderr


def test_other_files_and_damaged_snapshots_are_passed_over(
    segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (segment / "00000000000000000240.snapshot").write_bytes(b"nonsense")
    files = "00000000000000000240.snapshot,notes.txt"
    found = dump(segment, "--files", files, monkeypatch=monkeypatch)
    assert found.exit == 0
    assert "Ignoring unknown file notes.txt" in found.stderr
    assert len(found.stderr.splitlines()) == 2


def test_hash_tables_are_in_the_order_of_scala() -> None:
    assert string_hash("hello") == 99162322
    assert string_hash("") == 0
    assert partition_hash(TopicPartition("hello", 3)) == 31 * 34 + 99162322
    # By slot (h ^ h >>> 16, modulo 16): h is 104, i is 105, a is 97.
    assert hash_order(["i", "h", "a"], string_hash) == ["a", "h", "i"]
