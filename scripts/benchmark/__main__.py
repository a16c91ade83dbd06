"""`scripts/bench`: measure our broker, alone or alternating with Apache Kafka 2.8.2."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from scripts.benchmark.cleaning import measure_cleaning
from scripts.benchmark.groups import (
    group_counts,
    group_sizes,
    measure_group,
    measure_many_groups,
)
from scripts.benchmark.libraries import measure_libraries
from scripts.benchmark.measure import measure, rss_mb
from scripts.benchmark.plot import plot
from scripts.benchmark.report import Report
from scripts.benchmark.scenarios import Scenario, scenarios, warm_up
from scripts.benchmark.targets import TARGETS, Target

_START = "start to first answer"
_IDLE = "idle"
_GROUPS = "group of members, groups: rebalance, heartbeats, commits"
_CLEANING = "latency while a log is cleaned"


@click.command()
@click.option("--peer", type=click.Choice(["kafka"]), help="Measure this one too, alternating.")
@click.option("--only", type=click.Choice(sorted(TARGETS)), help="Measure this target alone.")
@click.option(
    "--brokers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Brokers of each; more than one is a cluster, measured with as many replicas, acks=all.",
)
@click.option("--quick", is_flag=True, help="Fewer and shorter measurements, one round.")
@click.option("--rounds", type=click.IntRange(1), help="Rounds; the median counts. [3, quick 1]")
@click.option("--match", default="", help="Only scenarios whose name contains this text.")
@click.option("--clients", is_flag=True, help="Measure client libraries instead of brokers.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("bench-results"),
    show_default=True,
    help="Folder for bench.json and bench.svg.",
)
def main(
    peer: str | None,
    only: str | None,
    brokers: int,
    quick: bool,
    rounds: int | None,
    match: str,
    clients: bool,
    output: Path,
) -> None:
    """Start brokers on loopback, load them with librdkafka, print what they did and the cost."""
    names = [only] if only else ["kafkalike", *([peer] if peer else [])]
    rounds = rounds or (1 if quick else 3)
    if clients:
        _write(measure_libraries(rounds, is_quick=quick), rounds, output, quick=quick)
        return
    wanted = scenarios(is_quick=quick, is_cluster=brokers > 1)
    chosen = [s for s in wanted if match in s.label or match in s.consume_label]
    with tempfile.TemporaryDirectory(prefix="kafkalike-bench-") as scratch, ExitStack() as stack:
        targets = []
        for name in names:
            click.echo(f"starting {name}")
            targets.append(stack.enter_context(TARGETS[name](Path(scratch, name), brokers)))
        report = Report(target.name for target in targets)
        for target in targets:
            report.add(target.name, _START, {"start_s": target.seconds_to_first_answer})
            report.add(target.name, _IDLE, {"rss_mb": rss_mb(target)})
        _run(targets, [warm_up(is_quick=quick)], None)
        _run(targets, [chosen] * rounds, report)
        if brokers == 1 and match in _GROUPS:
            _run_groups(targets, rounds, report, is_quick=quick)
        if brokers == 1 and match in _CLEANING:
            _run_cleaning(targets, rounds, report, is_quick=quick)
    _write(report, rounds, output, quick=quick, brokers=brokers)
    plot(report, output / "bench.svg")
    click.echo(f"Written: {output / 'bench.svg'}")


def _write(report: Report, rounds: int, output: Path, **about: Any) -> None:
    click.echo(f"\nMedians of {rounds} round(s):\n")
    click.echo(report.table())
    output.mkdir(parents=True, exist_ok=True)
    report.write_json(output / "bench.json", rounds=rounds, **about)
    click.echo(f"\nWritten: {output / 'bench.json'}")


def _run(targets: list[Target], rounds: list[list[Scenario]], report: Report | None) -> None:
    """Run every scenario on every target before the next one begins."""
    total = sum(map(len, rounds)) * len(targets)
    done = 0
    for chosen in rounds:
        for scenario in chosen:
            for target in targets:
                done += 1
                kind = "warm-up" if report is None else "measure"
                click.echo(f"[{kind} {done}/{total}] {target.name}: {scenario.label}")
                figures = measure(target, scenario, f"bench-{kind}-{done}")
                if report is not None:
                    for label, values in figures.items():
                        report.add(target.name, label, values)


def _run_groups(targets: list[Target], rounds: int, report: Report, *, is_quick: bool) -> None:
    """Measure large groups and many groups, on every target in turn."""
    measured = [
        *((f"group of {size}", measure_group, size) for size in group_sizes(is_quick=is_quick)),
        *((f"{n} groups", measure_many_groups, n) for n in group_counts(is_quick=is_quick)),
    ]
    for number in range(1, rounds + 1):
        for what, measure_one, size in measured:
            for target in targets:
                click.echo(f"[measure {number}/{rounds}] {target.name}: {what}")
                figures = measure_one(target, size, f"bench-{number}-{what.replace(' ', '-')}")
                for label, values in figures.items():
                    report.add(target.name, label, values)


def _run_cleaning(targets: list[Target], rounds: int, report: Report, *, is_quick: bool) -> None:
    """Measure what others notice of the cleaner, on every target in turn."""
    for number in range(1, rounds + 1):
        for target in targets:
            click.echo(f"[measure {number}/{rounds}] {target.name}: {_CLEANING}")
            figures = measure_cleaning(target, f"bench-{number}", is_quick=is_quick)
            for label, values in figures.items():
                report.add(target.name, label, values)


if __name__ == "__main__":
    main()
