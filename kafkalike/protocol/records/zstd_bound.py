"""How much a zstd stream can unfold to, read from its block headers without decompressing.

Java's writer leaves the content size out of the frame header, and a few bytes can stand for
gigabytes; but no block yields more than 128 KiB. Malformed streams raise `ValueError`.
"""

_FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK_BYTES = 128 << 10
_RAW, _RUN_LENGTH = 0, 1


def zstd_output_bound(data: bytes | memoryview) -> int:
    """Return an upper bound of the decompressed size of all frames."""
    position = 0
    bound = 0
    try:
        while position < len(data):
            magic = bytes(data[position : position + 4])
            if magic == _FRAME_MAGIC:
                position, frame_bound = _frame_bound(data, position + 4)
                bound += frame_bound
            elif magic[1:] == b"\x2a\x4d\x18" and magic[0] >> 4 == 5:
                position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
            else:
                raise ValueError("Unknown frame descriptor")
    except IndexError:
        raise ValueError("incomplete frame") from None
    return bound


def _frame_bound(data: bytes | memoryview, position: int) -> tuple[int, int]:
    descriptor = data[position]
    is_single_segment = descriptor >> 5 & 1
    position += 1 + (not is_single_segment) + (0, 1, 2, 4)[descriptor & 3]
    position += (is_single_segment, 2, 4, 8)[descriptor >> 6]
    bound = 0
    while True:
        header = data[position] | data[position + 1] << 8 | data[position + 2] << 16
        kind, size = header >> 1 & 3, header >> 3
        position += 3 + (1 if kind == _RUN_LENGTH else size)
        bound += size if kind in (_RAW, _RUN_LENGTH) else _BLOCK_BYTES
        if header & 1:
            return position + (4 if descriptor & 4 else 0), bound
