"""Rolled-up minutes in SQLite: what a batch says replaces what earlier ones said.

Rows and the number of the batch are one transaction of the database, so a batch that Spark repeats
is known and skipped.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS service_minutes (
    service TEXT NOT NULL,
    minute TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    average_latency_ms REAL,
    top_latency_ms REAL,
    PRIMARY KEY (service, minute)
);
CREATE TABLE IF NOT EXISTS written_batches (
    query TEXT PRIMARY KEY,
    batch_id INTEGER NOT NULL
);
"""
_UPSERT: Final = """
INSERT INTO service_minutes VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (service, minute) DO UPDATE SET
    requests = excluded.requests,
    errors = excluded.errors,
    average_latency_ms = excluded.average_latency_ms,
    top_latency_ms = excluded.top_latency_ms
"""
_REMEMBER: Final = """
INSERT INTO written_batches VALUES (?, ?)
ON CONFLICT (query) DO UPDATE SET batch_id = excluded.batch_id
"""


def upsert(database: Path, query: str, batch_id: int, rows: Iterable[Sequence[Any]]) -> bool:
    """Write the rows of a batch; False if it was written before."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.executescript(_SCHEMA)
        connection.execute("BEGIN IMMEDIATE")
        last = connection.execute(
            "SELECT batch_id FROM written_batches WHERE query = ?", (query,)
        ).fetchone()
        if last is not None and last[0] >= batch_id:
            return False
        connection.executemany(_UPSERT, rows)
        connection.execute(_REMEMBER, (query, batch_id))
        return True
