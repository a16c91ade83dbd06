"""InitProducerId."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalike.protocol.errors import ErrorCode
from tests.support.transaction_broker import TransactionBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TransactionBroker]:
    started = TransactionBroker(tmp_path)
    yield started
    started.stop()


@pytest.mark.parametrize("version", range(5))
def test_idempotent_producers_get_ids(broker: TransactionBroker, version: int) -> None:
    answers = [broker.init(version, transactional_id=None) for _ in range(2)]
    assert [(a.error_code, a.producer_id, a.producer_epoch) for a in answers] == [
        (ErrorCode.NONE, 0, 0),
        (ErrorCode.NONE, 1, 0),
    ]


@pytest.mark.parametrize("version", range(5))
def test_transactional_producers_get_epochs(broker: TransactionBroker, version: int) -> None:
    answers = [broker.init(version) for _ in range(2)]
    assert [(a.error_code, a.producer_id, a.producer_epoch) for a in answers] == [
        (ErrorCode.NONE, 0, 0),
        (ErrorCode.NONE, 0, 1),
    ]


@pytest.mark.parametrize(("producer_id", "epoch"), [(5, -1), (-1, 5)])
def test_producer_says_both_id_and_epoch_or_none(
    broker: TransactionBroker, producer_id: int, epoch: int
) -> None:
    answer = broker.init(producer_id=producer_id, producer_epoch=epoch)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
def test_fenced_producer_is_told_in_words_that_it_knows(
    broker: TransactionBroker, version: int, code: ErrorCode
) -> None:
    former = broker.init()
    broker.init()
    answer = broker.init(version, producer_id=former.producer_id, producer_epoch=0)
    assert answer.error_code == code
    assert (answer.producer_id, answer.producer_epoch) == (-1, -1)


def test_producer_that_goes_on_keeps_its_id(broker: TransactionBroker) -> None:
    first = broker.init()
    second = broker.init(producer_id=first.producer_id, producer_epoch=first.producer_epoch)
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, 1)


def test_impossible_timeout_is_refused(broker: TransactionBroker) -> None:
    answer = broker.init(transaction_timeout_ms=0)
    assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_other_broker_coordinates(broker: TransactionBroker) -> None:
    broker.transaction_coordinator.on_resignation(0, 1)
    assert broker.init().error_code == ErrorCode.NOT_COORDINATOR
