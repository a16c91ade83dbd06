from kafkalike.cli.tools.producer_perf_stats import ProducerStats, summary_line


def test_total_has_rates_latencies_and_percentiles_as_kafka_writes_them() -> None:
    stats = ProducerStats(expected=1000, start_ms=0)
    for number in range(1000):
        assert stats.record(number, latency_ms=number % 100, size=1024, now_ms=2000) is None
    assert summary_line(stats.summary(now_ms=2000)) == (
        "1000 records sent, 500.000000 records/sec (0.49 MB/sec), 49.50 ms avg latency,"
        " 99.00 ms max latency, 50 ms 50th, 95 ms 95th, 99 ms 99th, 99 ms 99.9th."
    )


def test_every_five_seconds_there_is_a_report_of_that_time_alone() -> None:
    stats = ProducerStats(expected=4, start_ms=0)
    assert stats.record(0, 10, 100, 1000) is None
    assert stats.record(1, 30, 100, 5000) == (
        "2 records sent, 0.4 records/sec (0.00 MB/sec), 20.0 ms avg latency, 30.0 ms max latency."
    )
    assert stats.record(2, 50, 100, 9999) is None
    assert stats.record(3, 50, 100, 10_000) == (
        "2 records sent, 0.4 records/sec (0.00 MB/sec), 50.0 ms avg latency, 50.0 ms max latency."
    )


def test_latencies_of_very_many_records_are_a_sample() -> None:
    stats = ProducerStats(expected=2_000_000, start_ms=0)
    for number in range(8):
        stats.record(number, latency_ms=number, size=1, now_ms=1)
    assert stats.summary(now_ms=1)["latency_percentiles_ms"]["50th"] == 4  # of 0 and 4


def test_nothing_acknowledged_is_no_crash() -> None:
    assert summary_line(ProducerStats(5, 0).summary(0)).startswith("0 records sent, 0.000000")
