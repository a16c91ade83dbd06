"""LZ4 frames as Kafka reads and writes them: independent blocks of 64 KiB, no content checksum.

Java's reader takes neither linked blocks nor other versions, so frames are put together here from
single blocks. Format v0 has a header checksum that was computed over the wrong bytes (KAFKA-3160):
it is written so for old clients, and not looked at when read. A reader raises `ValueError`.
"""

import struct

import cramjam

_MAGIC = b"\x04\x22\x4d\x18"
_FLAGS = 0x60  # version 1, independent blocks
_BLOCK_DESCRIPTOR_64K = 0x40
_BLOCK_BYTES = 64 << 10
_UNCOMPRESSED = 0x80000000
_UINT32 = struct.Struct("<I")
_MASK = 0xFFFFFFFF


def _rotate(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _MASK


def xxh32_short(data: bytes) -> int:
    """Return the xxHash32 (seed 0) of fewer than 16 bytes: a frame descriptor has no more."""
    if len(data) >= 16:
        raise ValueError("only for fewer than 16 bytes")
    value = (374761393 + len(data)) & _MASK
    position = 0
    while position + 4 <= len(data):
        word = _UINT32.unpack_from(data, position)[0]
        value = _rotate((value + word * 3266489917) & _MASK, 17) * 668265263 & _MASK
        position += 4
    for byte in data[position:]:
        value = _rotate((value + byte * 374761393) & _MASK, 11) * 2654435761 & _MASK
    value = (value ^ (value >> 15)) * 2246822519 & _MASK
    value = (value ^ (value >> 13)) * 3266489917 & _MASK
    return value ^ (value >> 16)


def compress_lz4(data: bytes, *, broken_checksum: bool = False) -> bytes:
    """Return an LZ4 frame; `broken_checksum` for message format v0."""
    head = _MAGIC + bytes((_FLAGS, _BLOCK_DESCRIPTOR_64K))
    checksum = xxh32_short(head if broken_checksum else head[4:]) >> 8 & 0xFF
    parts = [head, bytes((checksum,))]
    for start in range(0, len(data), _BLOCK_BYTES):
        block = data[start : start + _BLOCK_BYTES]
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(packed) < len(block):
            parts += (_UINT32.pack(len(packed)), packed)
        else:
            parts += (_UINT32.pack(len(block) | _UNCOMPRESSED), block)
    parts.append(bytes(4))
    return b"".join(parts)


def _read_descriptor(data: bytes | memoryview, ignore_checksum: bool) -> tuple[int, int, int]:
    """Return flags, largest block size and where the first block begins."""
    if len(data) < 7:
        raise ValueError("Stream ended prematurely")
    if data[:4] != _MAGIC:
        raise ValueError("Stream unsupported (invalid magic bytes)")
    flags, descriptor = data[4], data[5]
    if flags & 0xC3 != 0x40:
        raise ValueError(f"unsupported frame flags {flags:#x}")
    if not flags & 0x20:
        raise ValueError("Dependent block stream is unsupported")
    size_code = descriptor >> 4
    if descriptor & 0x0F or not 4 <= size_code <= 7:
        raise ValueError(f"unsupported block descriptor {descriptor:#x}")
    end = 14 if flags & 0x08 else 6
    if len(data) <= end:
        raise ValueError("Stream ended prematurely")
    if not ignore_checksum and data[end] != xxh32_short(bytes(data[4:end])) >> 8 & 0xFF:
        raise ValueError("Stream frame descriptor corrupted")
    return flags, 1 << (2 * size_code + 8), end + 1


def decompress_lz4(
    data: bytes | memoryview, max_bytes: int, *, ignore_checksum: bool = False
) -> bytes:
    """Return the content of a frame; block checksums are left to the CRC of the batch."""
    flags, largest, position = _read_descriptor(data, ignore_checksum)
    block_trailer = 4 if flags & 0x10 else 0
    out = bytearray()
    # One block is decompressed at a time into the same memory.
    opened = memoryview(bytearray(largest))
    while True:
        if position + 4 > len(data):
            raise ValueError("Stream ended prematurely")
        size = _UINT32.unpack_from(data, position)[0]
        position += 4
        if not size & ~_UNCOMPRESSED:
            return bytes(out)
        is_raw = size & _UNCOMPRESSED
        size &= ~_UNCOMPRESSED
        if size > largest:
            raise ValueError(f"Block size {size} exceeded max: {largest}")
        block = data[position : position + size]
        if len(block) < size:
            raise ValueError("Stream ended prematurely")
        position += size + block_trailer
        if is_raw:
            out += block
        else:
            out += opened[: cramjam.lz4.decompress_block_into(block, opened)]
        if len(out) > max_bytes:
            raise ValueError(f"more than {max_bytes} bytes")
