"""`kafkalike explain topic T`: who leads, what is not in sync, what is refused, and why."""

from typing import TYPE_CHECKING

import click

from kafkalike.cli.explain.finding import Finding, Level, counted, listed
from kafkalike.cli.explain.screen import connection_options, run, sentences, settings_of
from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.cli.tools.support.listing import print_json, print_lines, styled

if TYPE_CHECKING:
    from kafkalike.cli.explain.topic_facts import TopicFacts


@click.command()
@click.argument("name", metavar="TOPIC")
@connection_options
def topic(name: str, bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Say who leads TOPIC, since when, what is not in sync, and what is refused."""
    run(lambda: _explain(name, bootstrap_server, command_config, output))


def _explain(name: str, bootstrap_server: str, command_config: str | None, output: str) -> None:
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.explain.partition_reasons import explain_partition
    from kafkalike.cli.explain.topic_facts import topic_facts
    from kafkalike.cli.tools.support.client import with_admin

    settings = settings_of(bootstrap_server, command_config)
    facts = with_admin(settings, lambda admin: topic_facts(admin, name))
    if facts is None:
        raise ToolFailure(
            f"There is no topic {name} at {bootstrap_server}. These are there: "
            f"kafka-topics --bootstrap-server {bootstrap_server} --list"
        )
    findings = [explain_partition(partition) for partition in facts.partitions]
    if output == "json":
        partitions = [
            partition.as_json() | {"findings": [finding.as_json() for finding in found]}
            for partition, found in zip(facts.partitions, findings, strict=True)
        ]
        print_json({"topic": name, "controller": facts.controller_id, "partitions": partitions})
        return
    print_lines(_lines(facts, findings))


def _lines(facts: "TopicFacts", findings: list[list[Finding]]) -> list[str]:
    replicas = max(len(partition.replicas) for partition in facts.partitions)
    shape = f"{counted(len(facts.partitions), 'partition')}, {counted(replicas, 'replica')} each"
    brokers = f"{_brokers(sorted(facts.live_brokers))}, controller is {facts.controller_id}"
    lines = [f"Topic {facts.name}: {shape}. {brokers}."]
    for partition, found in zip(facts.partitions, findings, strict=True):
        lines += [styled(str(partition.tp), "bold"), *sentences(found)]
    bad = sum(any(f.level is Level.PROBLEM for f in found) for found in findings)
    lines.append(
        "Nothing is the matter." if not bad else f"{counted(bad, 'partition')} with a problem."
    )
    return lines


def _brokers(live: list[int]) -> str:
    return f"Broker {live[0]} is up" if len(live) == 1 else f"Brokers {listed(live)} are up"
