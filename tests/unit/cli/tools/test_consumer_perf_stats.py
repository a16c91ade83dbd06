import pytest

from kafkalike.cli.tools.consumer_perf_stats import (
    Mark,
    header,
    interval_line,
    java_date,
    summary,
    total_line,
)

MIB = 1024 * 1024
DAY = "yyyy"


def test_columns_have_the_names_of_kafka() -> None:
    rest = (
        "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms,"
        " fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    assert header(is_detailed=False) == f"start.time, end.time, {rest}"
    assert header(is_detailed=True) == f"time, threadId, {rest}"


def test_time_to_join_does_not_count_as_fetching() -> None:
    start = Mark(1_600_000_000_000)
    end = Mark(start.at_ms + 2000, records=1000, bytes=4 * MIB, joining_ms=1000)
    assert total_line(start, end, DAY) == (
        "2020, 2020, 4.0000, 2.0000, 1000, 500.0000, 1000, 1000, 4.0000, 1000.0000"
    )


def test_interval_has_sums_from_the_start_and_rates_of_its_own() -> None:
    last = Mark(1_600_000_000_000, records=1000, bytes=MIB, joining_ms=100)
    now = Mark(last.at_ms + 500, records=1500, bytes=2 * MIB, joining_ms=100)
    assert interval_line(last, now, DAY) == (
        "2020, 0, 2.0000, 2.0000, 1500, 1000.0000, 0, 500, 2.0000, 1000.0000"
    )


def test_no_time_at_all_is_no_division_by_zero() -> None:
    assert summary(Mark(5), Mark(5, records=1))["records_per_second"] == 0


def test_dates_follow_the_pattern_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    assert java_date("yyyy-MM-dd", 1_600_000_000_123).startswith("2020-09-1")
    assert java_date("ss:SSS 100%", 1_600_000_000_123) == "40:123 100%"
