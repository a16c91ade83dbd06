"""Members that must be heard of in time (Kafka's DelayedHeartbeat).

A heartbeat only moves the deadline of its member: no timer is touched. The timer finds, when it
strikes, that the deadline has moved, and waits for the rest. So it fires about once per session.
"""

from collections.abc import Callable

from kafkalike.utils.time import Time, Timer


class _Expected:
    __slots__ = ("deadline_ms", "strikes_at_ms", "timer")

    def __init__(self) -> None:
        self.deadline_ms = 0
        self.strikes_at_ms = 0
        self.timer: Timer | None = None


class DelayedHeartbeats:
    """The deadlines of all members; `on_expiration(group_id, member_id)` hears of a missed one."""

    def __init__(self, time: Time, on_expiration: Callable[[str, str], None]) -> None:
        self._time = time
        self._on_expiration = on_expiration
        self._expected: dict[tuple[str, str], _Expected] = {}

    def __len__(self) -> int:
        return len(self._expected)

    def expect(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        """Expect the next sign of life within a time from now."""
        key = (group_id, member_id)
        expected = self._expected.get(key)
        if expected is None:
            expected = self._expected[key] = _Expected()
        now_ms = self._time.now_ms()
        expected.deadline_ms = now_ms + timeout_ms
        if expected.timer is None or expected.deadline_ms < expected.strikes_at_ms:
            self._arm(key, expected, now_ms)

    def forget(self, group_id: str, member_id: str) -> None:
        """Expect nothing of a member any more."""
        expected = self._expected.pop((group_id, member_id), None)
        if expected is not None:
            _cancel(expected)

    def shutdown(self) -> None:
        """Forget everybody."""
        for expected in self._expected.values():
            _cancel(expected)
        self._expected.clear()

    def _arm(self, key: tuple[str, str], expected: _Expected, now_ms: int) -> None:
        _cancel(expected)
        expected.strikes_at_ms = expected.deadline_ms
        delay_ms = expected.deadline_ms - now_ms
        expected.timer = self._time.call_later_ms(delay_ms, self._strike, key, expected)

    def _strike(self, key: tuple[str, str], expected: _Expected) -> None:
        expected.timer = None
        now_ms = self._time.now_ms()
        if now_ms < expected.deadline_ms:
            self._arm(key, expected, now_ms)
            return
        del self._expected[key]
        self._on_expiration(*key)


def _cancel(expected: _Expected) -> None:
    if expected.timer is not None and expected.timer.active():
        expected.timer.cancel()
    expected.timer = None
