"""The time of day, for what people read: tools are short-lived and keep no timers by it."""

import time


def now_ms() -> int:
    """Return milliseconds since the epoch."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) // 1_000_000


def local_time(pattern: str, at_ms: int) -> str:
    """Write a time in the zone of this machine, by a pattern of `strftime`."""
    return time.strftime(pattern, time.localtime(at_ms // 1000))
