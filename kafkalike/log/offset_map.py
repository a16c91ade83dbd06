"""The last offset of each key in a bounded piece of memory (Kafka's `SkimpyOffsetMap`).

A hash table without deletes: 16 bytes of hash stand for the key, 8 bytes tell the offset. A Python
dict would take about six times that for an entry.
"""

from hashlib import blake2b
from mmap import mmap

BYTES_PER_ENTRY = 24

_DIGEST_BYTES = 16
_OFFSET_BYTES = 8
_SLOTS_PER_KEY = 1.5
"""In a table with as much room to spare hardly any key is looked for twice."""


class OffsetMap:
    """Maps keys to offsets while one log is cleaned; `close` gives the memory back.

    `memory_bytes` and `load_factor` say how many keys it takes at most. Where the caller knows that
    there are fewer than that, `expected_keys`, the table is smaller; either way only the pages that
    were written to count as memory. `latest_offset` is up to where the log is reflected in here.

    Kafka hashes with MD5; BLAKE2 costs the same here, and nobody can make two keys collide.
    """

    def __init__(
        self, memory_bytes: int, load_factor: float, expected_keys: int | None = None
    ) -> None:
        self.slots = memory_bytes // BYTES_PER_ENTRY
        self.max_size = int(self.slots * load_factor)
        if self.max_size < 1:
            raise ValueError(
                f"The offset map is too small for a single key ({memory_bytes} bytes at a load "
                f"factor of {load_factor}), so log cleaning will never make progress. Increase "
                "log.cleaner.dedupe.buffer.size"
            )
        self.size = 0
        self.latest_offset = -1
        table_slots = self.slots
        if expected_keys is not None:
            table_slots = min(table_slots, int(expected_keys * _SLOTS_PER_KEY))
        # One slot stays empty, for a search to end there. The number is odd, for a step that is a
        # power of two to come to every slot.
        self._table_slots = table_slots + 1 | 1
        self._digests = mmap(-1, self._table_slots * _DIGEST_BYTES)
        self._offset_bytes = mmap(-1, self._table_slots * _OFFSET_BYTES)
        # One more than the offset, so that an untouched slot is an empty one.
        self._offsets = memoryview(self._offset_bytes).cast("q")

    @property
    def is_full(self) -> bool:
        """Whether no key more may go in."""
        return self.size >= self.max_size

    @property
    def memory_bytes(self) -> int:
        """The size of the table."""
        return self._table_slots * BYTES_PER_ENTRY

    @property
    def utilization(self) -> float:
        """How much of the memory that it may take is used."""
        return self.size / self.slots

    def put(self, key: bytes, offset: int) -> None:
        """Note the offset of a key; offsets only grow."""
        digest = blake2b(key, digest_size=_DIGEST_BYTES).digest()
        offsets, slots = self._offsets, self._table_slots
        slot = hash(digest) % slots
        if offsets[slot]:
            slot = self._find(digest, slot)
        if not offsets[slot]:
            if self.size + 1 >= slots:
                raise ValueError(f"Attempt to add a key to a full offset map of {self.size} keys")
            self._digests[slot * _DIGEST_BYTES : (slot + 1) * _DIGEST_BYTES] = digest
            self.size += 1
        offsets[slot] = offset + 1
        self.latest_offset = offset

    def get(self, key: bytes) -> int:
        """Return the offset of a key, -1 if it is not here."""
        digest = blake2b(key, digest_size=_DIGEST_BYTES).digest()
        slot = hash(digest) % self._table_slots
        if self._offsets[slot]:
            slot = self._find(digest, slot)
        return self._offsets[slot] - 1

    def _find(self, digest: bytes, slot: int) -> int:
        """Return the slot of a key, or the empty one that is to be its slot."""
        offsets, digests, slots = self._offsets, self._digests, self._table_slots
        while digests[slot * _DIGEST_BYTES : (slot + 1) * _DIGEST_BYTES] != digest:
            if not offsets[slot]:
                break
            slot = (slot + (1 << (digest[0] & 15))) % slots
        return slot

    def close(self) -> None:
        """Give the memory back."""
        self._offsets.release()
        self._offset_bytes.close()
        self._digests.close()
