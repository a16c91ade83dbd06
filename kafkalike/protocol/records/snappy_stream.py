"""Snappy as snappy-java's streams frame it ("xerial"): a header, then blocks with their lengths.

A stream without the header is one raw snappy block, as librdkafka and others may send it. A reader
raises `ValueError` or cramjam's error.
"""

import struct

import cramjam

_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_MAGIC = _HEADER[:8]
# The header may come again inside the stream; read as a length, it starts like this.
_MAGIC_AS_LENGTH = struct.unpack(">i", _HEADER[:4])[0]
_BLOCK_BYTES = 32 << 10
_INT32 = struct.Struct(">i")


def compress_snappy(data: bytes) -> bytes:
    """Return `data` in snappy-java's framing, blocks of 32 KiB."""
    parts = [_HEADER]
    for start in range(0, len(data), _BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _BLOCK_BYTES]))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def decompress_snappy(data: bytes | memoryview, max_bytes: int) -> bytes:
    """Return the content of a framed stream or of one raw block."""
    if len(data) < len(_HEADER) or data[:8] != _MAGIC:
        return _open_block(data, max_bytes)
    parts = []
    left = max_bytes
    position = len(_HEADER)
    while position < len(data):
        if position + 4 > len(data):
            raise ValueError("stream ended prematurely")
        size = _INT32.unpack_from(data, position)[0]
        if size == _MAGIC_AS_LENGTH:
            position += len(_HEADER)
            continue
        position += 4
        if size < 0 or position + size > len(data):
            raise ValueError(f"invalid block size {size}")
        part = _open_block(data[position : position + size], left)
        parts.append(part)
        left -= len(part)
        position += size
    return b"".join(parts)


def _open_block(block: bytes | memoryview, max_bytes: int) -> bytes:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > max_bytes:
        raise ValueError(f"{size} bytes, more than {max_bytes}")
    return bytes(cramjam.snappy.decompress_raw(block))
