"""Keys go where the Java client sends them."""

from hashlib import sha256
from pathlib import Path

import pytest

from kafkalike.client.producer.murmur2 import murmur2, partition_for_key
from tests.support.golden import GOLDEN

HASHES: Path = GOLDEN / "murmur2.txt"


@pytest.mark.parametrize(
    ("key", "signed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"123", -267702483),
        (b"234", -406844982),
    ],
)
def test_hash_is_the_one_of_kafkas_own_tests(key: bytes, signed: int) -> None:
    """M44: murmur2 of keys."""
    assert murmur2(key) == signed & 0xFFFFFFFF


def test_hashes_of_a_hundred_thousand_keys_equal_the_java_clients() -> None:
    """M44: equal to the Java client for 10⁵ random keys."""
    digests = []
    for start in range(0, 100_000, 1000):
        hashes = sha256()
        for number in range(start, start + 1000):
            key = sha256(number.to_bytes(4, "big")).digest()[: number % 33]
            hashes.update(murmur2(key).to_bytes(4, "big"))
        digests.append(hashes.hexdigest())
    assert digests == HASHES.read_text().split()


def test_partition_of_a_key_is_never_negative_and_uses_all_partitions() -> None:
    """M44: a key goes always to the same partition."""
    chosen = {partition_for_key(b"key-%d" % number, 3) for number in range(100)}
    assert chosen == {0, 1, 2}
    assert partition_for_key(b"123", 3) == partition_for_key(b"234", 3) == 2
