from kafkalike.cli.tools.support.throttler import Throttler


class FakeClock:
    def __init__(self) -> None:
        self.now = 100.0

    def seconds(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_rate_is_kept_over_the_whole_time() -> None:
    clock = FakeClock()
    throttler = Throttler(100, clock.seconds, clock.sleep)
    for done in range(1, 501):
        clock.now += 0.001
        throttler.after(done)
    assert 104.99 <= clock.now <= 105.01


def test_nobody_waits_without_a_limit() -> None:
    clock = FakeClock()
    throttler = Throttler(-1, clock.seconds, clock.sleep)
    throttler.after(1_000_000)
    assert clock.now == 100.0
