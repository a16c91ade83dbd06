"""Framing: a size of four bytes, then that many bytes. Chunks in, frames out.

Twisted's `Int32StringReceiver` rebuilds its buffer on every chunk, which is quadratic for large
frames; here chunks are kept as they come and joined once.
"""

from collections.abc import Iterator
from struct import Struct

from kafkalike.protocol.errors import ProtocolError

_SIZE = Struct(">i")

Frame = tuple[bytes, int, int]
"""A frame is a range of a buffer: (buffer, start, end). Nothing is copied to cut it out."""


class Framer:
    """Collects the chunks of one connection; holds at most one incomplete frame."""

    __slots__ = ("_chunks", "_have", "_need", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._chunks: list[bytes] = []
        self._have = 0
        self._need = 4

    @property
    def awaited_bytes(self) -> int:
        """The size of the frame that has begun to come; 0 before its size is known."""
        return self._need if self._need > 4 else 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Give every frame that this chunk completes; raise ProtocolError on an illegal size."""
        if self._have:
            self._chunks.append(data)
            self._have += len(data)
            if self._have < self._need:
                return
            data = b"".join(self._chunks)
            self._chunks.clear()
        position, end = 0, len(data)
        while end - position >= 4:
            start = position + 4
            (size,) = _SIZE.unpack_from(data, position)
            if not 0 <= size <= self.max_frame_bytes:
                raise ProtocolError(f"frame of {size} bytes, the limit is {self.max_frame_bytes}")
            if end - start < size:
                self._keep(data, position, size + 4)
                return
            position = start + size
            yield data, start, position
        self._keep(data, position, 4)

    def _keep(self, data: bytes, position: int, need: int) -> None:
        self._have = len(data) - position
        self._need = need
        if self._have:
            self._chunks.append(data[position:] if position else data)
