"""How the C library keeps memory for a process that handles bursts of large buffers.

glibc learns from every large buffer that is freed to keep as much for the next one, and gives each
thread a heap of its own: after a burst, memory that nobody uses stays with the process.
"""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

# Below these, giving memory back and fetching it anew costs a tenth more CPU under load.
_TRIM_BYTES: Final = 2_000_000
_MMAP_BYTES: Final = 4_000_000


def keep_heap_small() -> bool:
    """Set one heap and fixed limits; call before threads start. False: this is not glibc."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return all(
        mallopt(parameter, value)
        for parameter, value in (
            (_M_ARENA_MAX, 1),
            (_M_TRIM_THRESHOLD, _TRIM_BYTES),
            (_M_MMAP_THRESHOLD, _MMAP_BYTES),
        )
    )
