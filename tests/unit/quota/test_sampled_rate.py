from hypothesis import given
from hypothesis import strategies as st

from kafkalike.quota.sampled_rate import SampledRate


def test_nothing_recorded_is_a_rate_of_zero() -> None:
    assert SampledRate(11, 1000).per_second(5000) == 0.0


def test_first_window_counts_as_if_all_others_had_been_quiet() -> None:
    rate = SampledRate(11, 1000)
    rate.record(10_000, 0)
    assert rate.per_second(0) == 1000.0


def test_steady_traffic_is_its_own_rate() -> None:
    rate = SampledRate(11, 1000)
    for second in range(60):
        rate.record(500, second * 1000)
    assert 450 <= rate.per_second(59_999) <= 550


def test_old_samples_are_forgotten() -> None:
    rate = SampledRate(3, 1000)
    rate.record(9000, 0)
    assert rate.per_second(3000) > 0
    assert rate.per_second(3001) == 0.0


@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 10_000)), max_size=50))
def test_rate_is_never_more_than_what_was_recorded_in_the_shortest_time(
    steps: list[tuple[int, int]],
) -> None:
    rate, now_ms, total = SampledRate(11, 1000), 0, 0
    for pause_ms, value in steps:
        now_ms += pause_ms
        total += value
        rate.record(value, now_ms)
        assert 0 <= rate.per_second(now_ms) <= total / 10
