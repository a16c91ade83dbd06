"""The throttle of the cleaner: bytes per second, checked every 300 ms."""

import sys

import pytest

from kafkalike.log.cleaner_throttler import Throttler


def test_too_fast_an_interval_is_followed_by_a_pause() -> None:
    throttler = Throttler(1000, now_ms=0)
    assert throttler.observe(600, 300) == 0
    assert throttler.observe(600, 301) == 1200 - 301
    # What was made up for is forgotten.
    assert throttler.observe(1, 1201) == 0


def test_slow_interval_needs_no_pause() -> None:
    throttler = Throttler(1000, now_ms=0)
    assert throttler.observe(300, 400) == 0
    assert throttler.observe(300, 800) == 0


def test_without_limit_there_is_no_pause() -> None:
    throttler = Throttler(sys.float_info.max, now_ms=0)
    assert throttler.observe(1 << 40, 301) == 0


@pytest.mark.parametrize("chunk", [10, 100, 5000])
def test_rate_is_kept_over_time(chunk: int) -> None:
    """Whatever the size of the chunks, each of which takes 10 ms."""
    throttler = Throttler(5000, now_ms=0)
    now_ms = moved = 0
    while now_ms < 60_000:
        now_ms += 10
        moved += chunk
        now_ms += throttler.observe(chunk, now_ms)
    natural = chunk * 100
    assert moved * 1000 / now_ms == pytest.approx(min(natural, 5000), rel=0.03)


def test_rate_can_be_changed() -> None:
    throttler = Throttler(1000, now_ms=0)
    throttler.max_per_second = 2000
    assert throttler.observe(1200, 400) == 200
