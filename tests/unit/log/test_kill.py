"""M1: kill -9 in the middle of appends, again and again: nothing that was promised is lost."""

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.support.log_builder import batches_of, records_of
from tests.support.log_writer import append_some, open_log, value_at

ROOT = Path(__file__).parents[3]
KILLS = 6


def write_until_killed(directory: Path, seed: int, lines: int) -> list[tuple[str, int]]:
    """Let the writer work, kill it after it has said some lines, and return all that it said."""
    command = [sys.executable, "-m", "tests.support.log_writer", str(directory), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as writer:
        assert writer.stdout is not None
        said = []
        for line in writer.stdout:
            said.append(line)
            if len(said) == lines:
                writer.kill()
        assert writer.wait() == -9, "the writer ended by itself"
    # What it wrote after its last whole line is not read: the pipe was full or it was cut short.
    return [(what.decode(), int(offset)) for what, offset in map(bytes.split, said)]


def test_log_survives_kill_9_at_random_points(tmp_path: Path) -> None:
    """Each run loads what the last one left; the log is whole, dense and not a record short."""
    random = Random(20)
    end = 0
    for seed in range(KILLS):
        said = write_until_killed(tmp_path / "data", seed, random.randrange(10, 200))
        assert said[0][0] == "loaded"
        assert said[0][1] >= end
        shutil.copytree(tmp_path / "data", tmp_path / str(seed))
        _, log = open_log(tmp_path / str(seed))
        end = said[-1][1]
        assert log.log_end_offset >= end
        records = records_of(log)
        assert [record.offset for record in records] == list(range(log.log_end_offset))
        assert all(record.value == value_at(record.offset) for record in records)
        # Idempotence goes on where it was: the last batch of the producer is still known.
        entry = log.producer_state.last_entry(7)
        last = [header for header, _ in batches_of(log) if header.producer_id == 7][-1]
        assert entry is not None
        assert (entry.last_seq, entry.last_data_offset) == (last.last_sequence, last.last_offset)
        assert append_some(log, random) == len(records)
