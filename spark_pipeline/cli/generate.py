"""`kafkalike generate`: events for the jobs, into their topics."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import count as count_from
from typing import Any

import click

from kafkalike.cli.cluster.screen import errors_as_sentences
from kafkalike.client import KafkaAdminClient, KafkaProducer, NewTopic
from kafkalike.client.config import ConfigError
from kafkalike.client.errors import TopicAlreadyExistsError
from spark_pipeline.generators import clickstream, logs, orders, trucks
from spark_pipeline.generators.events import START, Generator, Plan

GENERATORS: dict[str, tuple[Generator, tuple[str, ...]]] = {
    "clickstream": (clickstream.generate, ("pages", "impressions", "clicks")),
    "logs": (logs.generate, ("logs",)),
    "orders": (orders.generate, ("orders",)),
    "trucks": (trucks.generate, ("trucks",)),
}


@click.command()
@click.argument("what", type=click.Choice(list(GENERATORS)))
@click.option("--bootstrap-servers", default="localhost:9092", show_default=True)
@click.option(
    "--rate", default=0, help="Events per second; without it as fast as they can be sent."
)
@click.option("--count", default=0, help="How many; without it until Ctrl-C (needs --rate).")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same events.")
@click.option("--start", help="Time of the first event, ISO 8601; default 2026-01-01, or `now`.")
@click.option("--step-ms", default=100, show_default=True, help="Time between two events.")
@click.option("--topic", default="", help="Another topic; for clickstream what names begin with.")
@click.option("--partitions", default=3, show_default=True, help="Of topics that are not there.")
@click.option("--replication-factor", default=1, show_default=True, help="Of such topics.")
@click.option("--property", "properties", multiple=True, help="Setting of the client, key=value.")
def generate(
    what: str,
    bootstrap_servers: str,
    rate: int,
    count: int,
    seed: int,
    start: str | None,
    step_ms: int,
    topic: str,
    partitions: int,
    replication_factor: int,
    properties: tuple[str, ...],
) -> None:
    """Write events for the Spark jobs: trucks, orders, logs or a clickstream.

    Which events are late, malformed or repeated depends on their numbers alone; how many of each
    there were is said at the end.
    """
    if not count and not rate:
        raise click.UsageError("without --count a --rate is needed: it would never end")
    plan = Plan(
        count=count or 1 << 62,
        seed=seed,
        start=_time(start),
        step=timedelta(milliseconds=step_ms),
        topic=topic,
    )
    settings: dict[str, Any] = dict(text.partition("=")[::2] for text in properties)
    settings["bootstrap.servers"] = bootstrap_servers
    with errors_as_sentences():
        try:
            _create_topics(settings, _topics(what, topic), partitions, replication_factor)
            done = send(GENERATORS[what][0], plan, settings, rate)
        except ConfigError as error:
            raise click.ClickException(str(error)) from error
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(done.items()))
    click.echo(f"{sum(done.values())} events: {told}")


def send(generator: Generator, plan: Plan, settings: dict[str, Any], rate: int = 0) -> Counter[str]:
    """Send all events, acknowledged by all in-sync replicas; returns how many of each kind."""
    done: Counter[str] = Counter()
    started = time.monotonic()
    with KafkaProducer(**{"acks": "all", "linger.ms": "5", **settings}) as producer:
        try:
            for number, event in zip(count_from(), generator(plan), strict=False):
                producer.send(event.topic, event.value, event.key)
                done[event.kind] += 1
                if rate:
                    ahead_s = (number + 1) / rate - (time.monotonic() - started)
                    if ahead_s > 0.01:
                        time.sleep(ahead_s)
        except KeyboardInterrupt:
            click.echo()
        producer.flush()
    return done


def _topics(what: str, topic: str) -> list[str]:
    names = GENERATORS[what][1]
    return [f"{topic}{name}" for name in names] if len(names) > 1 else [topic or names[0]]


def _create_topics(
    settings: dict[str, Any], topics: list[str], partitions: int, replication_factor: int
) -> None:
    with KafkaAdminClient(**settings) as admin:
        for topic in topics:
            try:
                admin.create_topics([NewTopic(topic, partitions, replication_factor)])
            except TopicAlreadyExistsError:
                continue


def _time(text: str | None) -> datetime:
    if text is None:
        return START
    if text == "now":
        return datetime.fromtimestamp(time.time_ns() / 1e9, UTC)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.UsageError(f"--start: {error}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
