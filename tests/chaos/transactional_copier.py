"""A process that copies a topic in transactions: `python -m tests.chaos.transactional_copier ...`.

It is a process so that it can be paused in the middle of a transaction, while another one with the
same transactional.id takes its place (SIGUSR2 tells it so). It tells of each transaction in a line
of JSON, when it begins (its end is not known yet) and when it ends. It ends when it is fenced.
"""

import faulthandler
import json
import os
import signal
import time
from random import Random
from typing import Any

import click
from confluent_kafka import KafkaError

from tests.chaos.transactional_checker import Outcome, mark
from tests.support.clients.copying import TransactionalCopier

READY = "ready"
FENCED_EXIT_CODE = 3
FATAL_EXIT_CODE = 4
_TRANSACTION_SIZE = 500
_ABORTS_EVERY = 7
_LINGER_S = 0.1
_FLUSH_S = 10


def value_at(offset: int, value: bytes) -> bytes:
    """Return a value with its offset in the source, so that no two are alike."""
    return b"%d=%s" % (offset, value)


class MarkingCopier(TransactionalCopier):
    """Marks what it writes with its transaction, and tells of each transaction."""

    def __init__(self, *args: Any, name: str, seed: int, **options: Any) -> None:
        self._name = name
        self._random = Random(seed)
        self._count = 0
        self.is_replaced = False
        """Whether another has its place: then it must not take it back."""
        super().__init__(*args, **options)

    @property
    def _transaction(self) -> str:
        return f"{self._name}.{self.transactions}"

    def transform(self, message: Any) -> bytes:
        """Mark a value of the source."""
        return mark(self._transaction, value_at(message.offset(), message.value()))

    def on_begin(self, count: int) -> None:
        """Tell of a transaction; its end is not known yet."""
        self._count = count
        self.on_end(Outcome.UNKNOWN.value)

    def on_written(self) -> None:
        """Take a while: so the transaction is more often open when something breaks."""
        # librdkafka's abort does not wait until its partitions are part of the transaction, and
        # to end one that has not begun is a fatal error.
        self.producer.flush(_FLUSH_S)
        time.sleep(self._random.random() * _LINGER_S)

    def on_end(self, outcome: str) -> None:
        """Tell what became of the transaction."""
        told = {"transaction": self._transaction, "count": self._count, "outcome": outcome}
        click.echo(json.dumps(told))

    def reconnect(self) -> None:
        """Go on, unless that would lock out another."""
        if self.is_replaced:
            os._exit(FENCED_EXIT_CODE)
        super().reconnect()

    def on_fatal(self, error: KafkaError) -> None:
        """Give way to the one who has taken over, or will."""
        click.echo(f"fatal: {error}")
        # Without goodbye: the group has another member in its place.
        os._exit(FENCED_EXIT_CODE if error.code() == KafkaError._FENCED else FATAL_EXIT_CODE)


@click.command()
@click.argument("bootstrap_servers")
@click.argument("source")
@click.argument("target")
@click.option("--name", required=True, help="What transactions of this process are marked with.")
@click.option("--transactional-id", required=True)
@click.option("--group", required=True)
@click.option("--timeout-ms", type=int, required=True, help="transaction.timeout.ms")
@click.option("--seed", type=int, required=True)
def main(
    bootstrap_servers: str,
    source: str,
    target: str,
    name: str,
    transactional_id: str,
    group: str,
    timeout_ms: int,
    seed: int,
) -> None:
    """Copy until SIGTERM."""
    is_stopping: list[int] = []
    faulthandler.register(signal.SIGUSR1)  # where it hangs, if it does
    signal.signal(signal.SIGTERM, lambda number, _: is_stopping.append(number))
    copier = MarkingCopier(
        bootstrap_servers,
        source,
        target,
        name=name,
        transactional_id=transactional_id,
        group=group,
        transaction_timeout_ms=timeout_ms,
        seed=seed,
        debug="eos",
    )
    signal.signal(signal.SIGUSR2, lambda *_: setattr(copier, "is_replaced", True))
    click.echo(READY)
    copier.copy(lambda: bool(is_stopping), size=_TRANSACTION_SIZE, aborts_every=_ABORTS_EVERY)
    copier.close()


if __name__ == "__main__":
    main()
