import contextlib
import gzip
import random
import struct
import traceback
import zlib

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalike.protocol.errors import CorruptRecordError
from kafkalike.protocol.records.compression import (
    CompressionType,
    compress,
    compression_type,
    decompress,
)
from kafkalike.protocol.records.lz4_frame import xxh32_short
from kafkalike.protocol.records.zstd_bound import zstd_output_bound

CODECS = [codec for codec in CompressionType if codec is not CompressionType.NONE]
MEGABYTE = 1 << 20
# Compressible, longer than a block of any codec, and not a multiple of one.
LONG = b"".join(b"%d," % number for number in range(60000))


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(CompressionType), st.binary(max_size=300), st.integers(0, 2))
def test_whatever_is_compressed_comes_back(codec: CompressionType, data: bytes, magic: int) -> None:
    assert decompress(codec, compress(codec, data, magic), magic) == data


@pytest.mark.parametrize("codec", CODECS)
def test_data_of_many_blocks_comes_back(codec: CompressionType) -> None:
    noise = random.Random(1).randbytes(200_000)
    for data in (LONG, noise, LONG + noise):
        packed = compress(codec, data)
        assert decompress(codec, memoryview(packed)) == data
    assert len(compress(codec, LONG)) < len(LONG) * 3 // 4


@pytest.mark.parametrize("codec", CODECS)
def test_output_is_bounded(codec: CompressionType) -> None:
    bomb = compress(codec, bytes(32 * MEGABYTE))
    assert len(bomb) < 2 * MEGABYTE
    with pytest.raises(CorruptRecordError, match=codec.name.lower()):
        decompress(codec, bomb, max_bytes=MEGABYTE)
    assert decompress(codec, compress(codec, bytes(MEGABYTE)), max_bytes=MEGABYTE) == bytes(
        MEGABYTE
    )
    with pytest.raises(CorruptRecordError):
        decompress(codec, compress(codec, bytes(MEGABYTE + 1)), max_bytes=MEGABYTE)


@pytest.mark.parametrize("codec", CODECS)
def test_every_cut_of_a_stream_is_corrupt(codec: CompressionType) -> None:
    packed = compress(codec, LONG[:100_000])
    # A framed snappy stream has no end mark: cut between blocks it is a shorter stream.
    for end in range(0, len(packed), 997):
        try:
            found = decompress(codec, packed[:end])
        except CorruptRecordError:
            continue
        assert codec is CompressionType.SNAPPY
        assert LONG.startswith(found)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(CODECS), st.data())
def test_a_mutated_stream_opens_or_is_corrupt(codec: CompressionType, data: st.DataObject) -> None:
    packed = bytearray(compress(codec, LONG[:3000]))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    try:
        opened = decompress(codec, bytes(packed), max_bytes=MEGABYTE)
    except CorruptRecordError:
        return
    assert len(opened) <= MEGABYTE


@given(st.sampled_from(CODECS), st.binary(max_size=60))
def test_random_bytes_open_or_are_corrupt(codec: CompressionType, data: bytes) -> None:
    with contextlib.suppress(CorruptRecordError):
        assert isinstance(decompress(codec, data), bytes)


def test_codecs_have_names_and_numbers() -> None:
    assert [codec.name for codec in map(compression_type, range(5))] == [
        "NONE",
        "GZIP",
        "SNAPPY",
        "LZ4",
        "ZSTD",
    ]
    assert CompressionType.for_name("uncompressed") is CompressionType.NONE
    assert CompressionType.for_name("zstd") is CompressionType.ZSTD
    for unknown in (5, 7):
        with pytest.raises(CorruptRecordError, match=f"Unknown compression type id: {unknown}"):
            compression_type(unknown)


def test_gzip_of_several_members_is_one_stream() -> None:
    members = gzip.compress(b"one") + gzip.compress(b"two")
    assert decompress(CompressionType.GZIP, members) == b"onetwo"
    assert zlib.decompress(compress(CompressionType.GZIP, b"abc"), 31) == b"abc"


def test_snappy_has_the_framing_of_snappy_java() -> None:
    packed = compress(CompressionType.SNAPPY, LONG)
    assert packed[:16] == b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    (size,) = struct.unpack_from(">i", packed, 16)
    assert cramjam.snappy.decompress_raw_len(packed[20 : 20 + size]) == 32 << 10


def test_snappy_without_framing_is_read_too() -> None:
    raw = bytes(cramjam.snappy.compress_raw(LONG))
    assert decompress(CompressionType.SNAPPY, raw) == LONG


def test_snappy_header_may_come_again() -> None:
    packed = compress(CompressionType.SNAPPY, b"one") + compress(CompressionType.SNAPPY, b"two")
    assert decompress(CompressionType.SNAPPY, packed) == b"onetwo"


def test_a_snappy_block_that_states_a_huge_size_is_refused_unopened() -> None:
    block = b"\xff\xff\xff\xff\x0f" + bytes(10)  # says 4 GiB
    with pytest.raises(CorruptRecordError, match="4294967295 bytes, more than"):
        decompress(CompressionType.SNAPPY, block)


def test_lz4_frame_has_independent_blocks_of_64_kib_as_java_needs() -> None:
    packed = compress(CompressionType.LZ4, LONG)
    assert packed[:7] == b"\x04\x22\x4d\x18\x60\x40\x82"
    assert packed[-4:] == bytes(4)
    assert bytes(cramjam.lz4.decompress(packed)) == LONG


def test_lz4_of_format_v0_has_the_checksum_of_old_kafka() -> None:
    packed = compress(CompressionType.LZ4, b"abc", magic=0)
    head = b"\x04\x22\x4d\x18\x60\x40"
    assert packed[6] == xxh32_short(head) >> 8 & 0xFF != 0x82
    assert decompress(CompressionType.LZ4, packed, magic=0) == b"abc"
    with pytest.raises(CorruptRecordError, match="descriptor corrupted"):
        decompress(CompressionType.LZ4, packed, magic=1)


def test_lz4_frames_of_other_writers_are_read() -> None:
    content_size = bytes((0x68, 0x40)) + struct.pack("<Q", 3)
    checksum = xxh32_short(content_size) >> 8 & 0xFF
    raw_block = struct.pack("<I", 3 | 0x80000000) + b"abc" + bytes(4)
    frame = b"\x04\x22\x4d\x18" + content_size + bytes((checksum,)) + raw_block
    assert decompress(CompressionType.LZ4, frame) == b"abc"


def test_lz4_with_linked_blocks_is_refused_as_java_does() -> None:
    with pytest.raises(CorruptRecordError, match="Dependent block stream is unsupported"):
        decompress(CompressionType.LZ4, b"\x04\x22\x4d\x18\x40\x40" + bytes(9))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"\x04\x22\x4d\x18\x60", "ended prematurely"),
        (b"\x05\x22\x4d\x18\x60\x40\x82", "invalid magic bytes"),
        (b"\x04\x22\x4d\x18\xa0\x40\x82", "unsupported frame flags"),
        (b"\x04\x22\x4d\x18\x60\x30\x82", "unsupported block descriptor"),
        (b"\x04\x22\x4d\x18\x60\x40\x82\xff\xff\xff\x7f", "exceeded max: 65536"),
        (b"\x04\x22\x4d\x18\x60\x40\x82\x05\x00\x00\x00abc", "ended prematurely"),
        (b"\x04\x22\x4d\x18\x60\x40\x82", "ended prematurely"),
        (b"\x04\x22\x4d\x18\x68\x40\x82", "ended prematurely"),
    ],
)
def test_malformed_lz4_frames_say_what_is_wrong(frame: bytes, message: str) -> None:
    with pytest.raises(CorruptRecordError, match=message):
        decompress(CompressionType.LZ4, frame)


@pytest.mark.parametrize(
    ("data", "value"), [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF)]
)
def test_xxh32_has_the_published_values(data: bytes, value: int) -> None:
    assert xxh32_short(data) == value


def test_xxh32_is_for_short_data() -> None:
    with pytest.raises(ValueError, match="16"):
        xxh32_short(bytes(16))


def test_zstd_stream_without_its_size_is_read() -> None:
    compressor = cramjam.zstd.Compressor(level=3)
    compressor.compress(LONG)
    packed = bytes(compressor.finish())
    assert packed[4] >> 6 == packed[4] >> 5 & 1 == 0  # no content size, as Java's streams have it
    assert decompress(CompressionType.ZSTD, packed) == LONG
    assert len(LONG) <= zstd_output_bound(packed) <= len(LONG) + (128 << 10)


def test_zstd_stream_that_was_flushed_often_is_read_though_its_bound_is_high() -> None:
    compressor = cramjam.zstd.Compressor(level=3)
    packed = b""
    for number in range(300):
        compressor.compress(b"%d" % number * 500)
        packed += bytes(compressor.flush())
    packed += bytes(compressor.finish())
    expected = b"".join(b"%d" % number * 500 for number in range(300))
    assert zstd_output_bound(packed) > 2 * MEGABYTE > len(expected)
    assert decompress(CompressionType.ZSTD, packed, max_bytes=2 * MEGABYTE) == expected


def test_zstd_skippable_frames_are_passed_over() -> None:
    skipped = b"\x50\x2a\x4d\x18" + struct.pack("<I", 3) + b"xyz"
    packed = skipped + compress(CompressionType.ZSTD, b"abc")
    assert zstd_output_bound(packed) == 3


@pytest.mark.parametrize("data", [b"\x28\xb5\x2f\xfd", b"nonsense", b"\x28\xb5\x2f\xfd\x20\x05"])
def test_zstd_bound_of_malformed_streams_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match="frame"):
        zstd_output_bound(data)


def test_refused_bomb_leaves_nothing_in_the_error() -> None:
    """Who keeps the error for a while must not keep what was unfolded so far."""
    bomb = compress(CompressionType.GZIP, bytes(4_000_000))
    with pytest.raises(CorruptRecordError) as raised:
        decompress(CompressionType.GZIP, bomb, max_bytes=2_000_000)
    problem = raised.value.__cause__
    assert problem is not None
    kept = [
        value
        for frame, _ in traceback.walk_tb(problem.__traceback__)
        for value in frame.f_locals.values()
        if isinstance(value, bytes) and len(value) > 1_000_000
    ]
    assert not kept
