"""`.txnindex`: the aborted transactions of a segment, for consumers that read committed data.

An entry is 34 bytes: version 0, producer id, first offset, last offset (the abort marker) and the
last stable offset at the time of the abort. There is no file where nothing was aborted.
"""

import os
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kafkalike.log.errors import CorruptIndexError

_ENTRY = Struct(">hqqqq")
_CURRENT_VERSION = 0


class AbortedTxn(NamedTuple):
    """A transaction that was aborted, from its first offset to its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TxnIndexSearchResult(NamedTuple):
    """Aborted transactions of one segment; not complete means that later segments matter too."""

    aborted_transactions: list[AbortedTxn]
    is_complete: bool


class TransactionIndex:
    """The aborted transactions of a segment in the order of their markers.

    Few segments have any, so the entries are kept in memory once they were needed.
    """

    def __init__(self, path: Path, start_offset: int) -> None:
        self.path = path
        self.start_offset = start_offset
        self._entries: list[AbortedTxn] | None = None if path.exists() else []

    @property
    def all_aborted_txns(self) -> list[AbortedTxn]:
        """All entries; an unknown version is a `CorruptIndexError`."""
        if self._entries is None:
            self._entries = self._read()
        return self._entries

    def _read(self) -> list[AbortedTxn]:
        data = self.path.read_bytes()
        entries = []
        for version, *fields in _ENTRY.iter_unpack(data[: len(data) - len(data) % _ENTRY.size]):
            if version > _CURRENT_VERSION:
                raise CorruptIndexError(f"{self.path} has an entry of unknown version {version}")
            entries.append(AbortedTxn(*fields))
        return entries

    def append(self, aborted: AbortedTxn) -> None:
        """Add a transaction; markers only go forward."""
        entries = self.all_aborted_txns
        if entries and aborted.last_offset <= entries[-1].last_offset:
            raise ValueError(
                f"{self.path}: last offset {aborted.last_offset} is not larger than the last, "
                f"{entries[-1].last_offset}"
            )
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        fd = os.open(self.path, flags, 0o644)
        try:
            os.pwrite(fd, _ENTRY.pack(_CURRENT_VERSION, *aborted), len(entries) * _ENTRY.size)
        finally:
            os.close(fd)
        entries.append(aborted)

    def collect_aborted_txns(self, fetch_offset: int, upper_bound: int) -> TxnIndexSearchResult:
        """Return the aborted transactions that overlap a range of offsets."""
        found = []
        for txn in self.all_aborted_txns:
            if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound:
                found.append(txn)
            if txn.last_stable_offset >= upper_bound:
                return TxnIndexSearchResult(found, is_complete=True)
        return TxnIndexSearchResult(found, is_complete=False)

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker is at or after an offset."""
        kept = [txn for txn in self.all_aborted_txns if txn.last_offset < offset]
        if len(kept) < len(self.all_aborted_txns):
            os.truncate(self.path, len(kept) * _ENTRY.size)
            self._entries = kept

    def reset(self) -> None:
        """Forget all entries."""
        if self.path.exists():
            os.truncate(self.path, 0)
        self._entries = []

    def sanity_check(self) -> None:
        """Raise `CorruptIndexError` if an entry cannot belong to this segment."""
        for txn in self.all_aborted_txns:
            if txn.last_offset < self.start_offset:
                raise CorruptIndexError(
                    f"{self.path}: {txn} ends before the segment's offset {self.start_offset}"
                )

    def open_for_flush(self) -> int | None:
        """Return a descriptor for an fsync in a thread, or None where there is no file."""
        if self._entries == []:
            return None
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def rename_to(self, path: Path) -> None:
        """Move the file, if there is one."""
        try:
            if self.path.exists():
                self.path.rename(path)
        finally:
            self.path = path

    def delete_if_exists(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
