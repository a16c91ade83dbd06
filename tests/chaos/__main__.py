"""`scripts/chaos --minutes N --seed S`: faults for a while, then a table and a verdict."""

import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

import click

from tests.chaos.run import RECORDS, WORKLOADS, Report, plan, run


@click.command()
@click.option("--minutes", type=float, default=30.0, show_default=True)
@click.option("--seed", type=int, help="Repeats the faults of a run; by default a new one.")
@click.option("--dir", "directory", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--workload",
    type=click.Choice(WORKLOADS),
    default=RECORDS,
    show_default=True,
    help="Records alone, or also a copy of them in transactions.",
)
def main(minutes: float, seed: int | None, directory: Path | None, workload: str) -> None:
    """Stop, kill and pause leaders, controllers, followers and ZooKeeper under load.

    Ctrl-C ends the run with the round that is under way, and judges it.
    """
    seed = int(time.time()) if seed is None else seed
    directory = directory or Path(tempfile.mkdtemp(prefix="kafkalike-chaos-"))
    until_s = time.monotonic() + minutes * 60
    click.echo(f"seed {seed}, {minutes:g} minutes, in {directory}")
    report = run(
        directory,
        seed=seed,
        faults=plan(Random(seed), workload),
        workload=workload,
        is_over=_is_over(until_s),
        say=click.echo,
    )
    click.echo(table(report))
    sys.exit(0 if report.is_good else 1)


def _is_over(until_s: float) -> Callable[[int], bool]:
    """Return what says whether the time is up or somebody has asked for the end."""
    is_asked = False

    def ask(number: int, _: object) -> None:
        nonlocal is_asked
        is_asked = True
        signal.signal(number, signal.SIG_DFL)  # the second time ends it without a verdict

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return lambda _: is_asked or time.monotonic() > until_s


def table(report: Report) -> str:
    """Show rounds and the longest unavailability of each kind of fault, and the verdict."""
    by_kind: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in report.rounds:
        by_kind[one.fault, one.role].append(one.unavailable_s)
    lines = ["", f"{'fault':7}{'role':26}{'rounds':>7}{'longest unavailability':>24}"]
    for (fault, role), pauses in sorted(by_kind.items()):
        lines.append(f"{fault:7}{role:26}{len(pauses):7}{max(pauses):22.1f} s")
    counts = f"{report.sent} sent, {report.acked} acknowledged, {report.failed} given up"
    lines += [
        "",
        f"{len(report.rounds)} rounds, {counts}",
        f"verdict: {report.verdict}",
        *report.evidence,
        *report.problems,
        f"seed {report.seed}: {'good' if report.is_good else 'BAD'}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
