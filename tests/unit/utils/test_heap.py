"""What a burst of large buffers leaves behind in a process."""

import platform
import subprocess
import sys

import pytest

_BURST = """
from kafkalike.utils.heap import keep_heap_small
assert not {is_small} or keep_heap_small()

def rss_kb():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

before = rss_kb()
large = b"x" * 8_000_000
del large  # this teaches glibc to keep as much the next time
buffers = [b"x" * 3_000_000 for _ in range(4)]
del buffers
print(rss_kb() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_memory_of_a_burst_is_given_back() -> None:
    assert _left_kb(is_small=True) < 4_000 < 8_000 < _left_kb(is_small=False)


def _left_kb(*, is_small: bool) -> int:
    code = _BURST.format(is_small=is_small)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return int(done.stdout)
