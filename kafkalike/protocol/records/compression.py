"""The codecs of record batches: gzip, snappy, lz4 and zstd, as Kafka's Java streams frame them.

Output of decompression is bounded, for a batch of a megabyte can unfold to gigabytes. Whatever a
codec cannot read is a `CorruptRecordError`.
"""

import zlib
from enum import IntEnum
from mmap import mmap

import cramjam

from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.lz4_frame import compress_lz4, decompress_lz4
from kafkalike.protocol.records.snappy_stream import compress_snappy, decompress_snappy
from kafkalike.protocol.records.zstd_bound import zstd_output_bound

MAX_DECOMPRESSED_BYTES = 256 << 20
"""Kafka streams and has no such bound; a producer's whole buffer (`buffer.memory`) is 32 MiB."""

_GZIP_WINDOW_BITS = 31


class CompressionType(IntEnum):
    """The codec of a batch: the lowest three bits of its attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def for_name(cls, name: str) -> "CompressionType":
        """Return the codec for a value of `compression.type` (`uncompressed` means none)."""
        return cls.NONE if name == "uncompressed" else cls[name.upper()]


def compression_type(codec: int) -> CompressionType:
    """Return the codec for the bits of a batch's attributes."""
    try:
        return CompressionType(codec)
    except ValueError:
        raise CorruptRecordError(f"Unknown compression type id: {codec}") from None


def compress(codec: CompressionType, data: bytes, magic: int = 2) -> bytes:
    """Return `data` as the codec's stream; `magic` matters to lz4 alone (KAFKA-3160)."""
    if codec is CompressionType.NONE:
        return data
    if codec is CompressionType.GZIP:
        return bytes(cramjam.gzip.compress(data))
    if codec is CompressionType.SNAPPY:
        return compress_snappy(data)
    if codec is CompressionType.LZ4:
        return compress_lz4(data, broken_checksum=magic == 0)
    return bytes(cramjam.zstd.compress(data, level=3))


def decompress(
    codec: CompressionType,
    data: bytes | memoryview,
    magic: int = 2,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> bytes:
    """Return what the codec's stream holds, at most `max_bytes` of it or `CorruptRecordError`."""
    if codec is CompressionType.NONE:
        return bytes(data)
    try:
        if codec is CompressionType.GZIP:
            return _gunzip(data, max_bytes)
        if codec is CompressionType.SNAPPY:
            return decompress_snappy(data, max_bytes)
        if codec is CompressionType.LZ4:
            return decompress_lz4(data, max_bytes, ignore_checksum=magic == 0)
        return _unzstd(data, max_bytes)
    except (ValueError, cramjam.DecompressionError, zlib.error) as problem:
        raise CorruptRecordError(
            f"Failed to decompress record stream ({codec.name.lower()}): {problem}"
        ) from problem


def _gunzip(data: bytes | memoryview, max_bytes: int) -> bytes:
    # zlib and not cramjam: it can stop at a bound. Java reads several members as one stream.
    parts: list[bytes] = []
    left = max_bytes
    rest: bytes | memoryview = data
    while True:
        stream = zlib.decompressobj(_GZIP_WINDOW_BITS)
        part = stream.decompress(rest, left + 1)
        left -= len(part)
        if left < 0:
            del part, stream, parts  # an error keeps what stands beside it for as long as it lives
            raise ValueError(f"more than {max_bytes} bytes")
        if not stream.eof:
            raise ValueError("stream ended prematurely")
        parts.append(part)
        rest = stream.unused_data
        if not rest:
            return b"".join(parts)


def _unzstd(data: bytes | memoryview, max_bytes: int) -> bytes:
    if zstd_output_bound(data) <= max_bytes:
        return bytes(cramjam.zstd.decompress(data))
    # A bomb, or a writer that flushed often, for many small blocks make the bound far too high.
    # Of the room only the pages that are written to are ever taken from the machine.
    with mmap(-1, max(1, max_bytes)) as room:
        size = cramjam.zstd.decompress_into(data, memoryview(room))
        return room[:size]
