"""`kafkalike explain group G`: who reads what, how far it is, why it rebalances."""

import click

from kafkalike.cli.explain.finding import counted
from kafkalike.cli.explain.screen import connection_options, run, sentences, settings_of
from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.cli.tools.support.listing import print_json, print_lines


@click.command()
@click.argument("name", metavar="GROUP")
@connection_options
def group(name: str, bootstrap_server: str, command_config: str | None, output: str) -> None:
    """Say who is in GROUP, why it rebalanced, who has what, and how far it is."""
    run(lambda: _explain(name, bootstrap_server, command_config, output))


def _explain(name: str, bootstrap_server: str, command_config: str | None, output: str) -> None:
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.explain.group_facts import group_facts
    from kafkalike.cli.explain.group_reasons import explain_group

    facts = group_facts(settings_of(bootstrap_server, command_config), name)
    if facts is None:
        raise ToolFailure(
            f"There is no group {name} at {bootstrap_server}. These are there: "
            f"kafka-consumer-groups --bootstrap-server {bootstrap_server} --list"
        )
    findings = explain_group(facts)
    if output == "json":
        print_json(facts.as_json() | {"findings": [found.as_json() for found in findings]})
        return
    head = f"Group {name}: {facts.state}, {counted(len(facts.members), 'member')}."
    readers = [
        f"  {member.name} reads {', '.join(map(str, member.partitions)) or 'nothing'}."
        for member in facts.members.values()
        if facts.state == "Stable"
    ]
    print_lines([head, *sentences(findings[:-1]), *readers, *sentences(findings[-1:])])
