"""A process that does nothing but append to a log, until it is killed: `log_writer DIR SEED`.

It loads what is there, then appends batches whose values follow from their offsets, and says what
it does: `loaded N`, `appended N`, `flushed N`, `truncating N`, where N is the log end offset.
"""

import os
import sys
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.task import Clock

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.config.topic_config import TopicConfig
from kafkalike.log.log import Log
from kafkalike.log.log_manager import LogManager
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.records.compression import CompressionType
from kafkalike.utils.time import Time
from tests.support.log_builder import NOW_MS, a_batch, append, run_at_once
from tests.support.run import run

TP = TopicPartition("orders", 0)
SETTINGS: dict[str, Any] = {
    "segment_bytes": 12_000,
    "index_interval_bytes": 300,
    "segment_index_bytes": 4096,
}
_CODECS = [CompressionType.NONE, CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD]
_APPENDS_BETWEEN_TRUNCATIONS = 37


def value_at(offset: int) -> bytes:
    """Return the value of the record at an offset: up to 400 bytes."""
    return b"%d " % offset * (1 + offset * 7919 % 60)


def open_log(directory: Path) -> tuple[LogManager, Log]:
    """Load the log as a broker does at its start."""
    clock = Clock()
    clock.advance(NOW_MS / 1000)
    manager = LogManager(BrokerConfig(log_dirs=str(directory)), Time(clock), run_at_once)
    config = TopicConfig(**SETTINGS)
    run(manager.startup({TP.topic: config}))
    return manager, manager.get_or_create_log(TP, config, topic_id=bytes(range(16)), is_new=True)


def append_some(log: Log, random: Random) -> int:
    """Append a batch, mostly of an idempotent producer; return its first offset."""
    start = log.log_end_offset
    values = [value_at(start + number) for number in range(random.randrange(1, 6))]
    codec = random.choice(_CODECS)
    if random.random() < 0.3:
        return append(log, a_batch(values, compression=codec)).first_offset
    entry = log.producer_state.last_entry(7)
    sequence = entry.last_seq + 1 if entry is not None else 0
    batch = a_batch(values, compression=codec, producer_id=7, base_sequence=sequence)
    return append(log, batch).first_offset


def say(what: str, offset: int) -> None:
    """Tell the parent, without any buffer between."""
    os.write(1, f"{what} {offset}\n".encode())


def main(directory: Path, seed: int) -> None:
    """Append for ever."""
    random = Random(seed)
    manager, log = open_log(directory)
    say("loaded", log.log_end_offset)
    count = 0
    while True:
        first_offset = append_some(log, random)
        say("appended", log.log_end_offset)
        count += 1
        if random.random() < 0.05:
            run(manager.flush(log))
            say("flushed", log.log_end_offset)
        if not count % _APPENDS_BETWEEN_TRUNCATIONS:
            say("truncating", first_offset)
            manager.truncate_to({TP: first_offset})


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
