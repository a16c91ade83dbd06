"""Fetch sessions (KIP-227): a client names its partitions once and then hears only of changes."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from kafkalike.client.simple_client import SimpleClient
from kafkalike.protocol.error_code import ErrorCode
from kafkalike.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from tests.support import wire
from tests.support.target import Target

FULL, CLOSE = 0, -1


class Session:
    """One session of a client on a topic of three partitions."""

    def __init__(self, client: SimpleClient) -> None:
        self.client = client
        self.topic = wire.create_topic(client, "session", partitions=3)
        self.id = 0

    # Any: the answer's class follows from the request.
    def fetch(
        self,
        epoch: int,
        partitions: Sequence[tuple[int, int]] = (),
        forgotten: Sequence[int] = (),
        session_id: int | None = None,
    ) -> Any:
        """Fetch (partition, offset) pairs under an epoch."""
        wanted = [
            FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
            for partition, offset in partitions
        ]
        dropped = [ForgottenTopic(topic=self.topic, partitions=list(forgotten))]
        return self.client.send(
            FetchRequest(
                replica_id=-1,
                max_wait_ms=200,
                min_bytes=1,
                session_id=self.id if session_id is None else session_id,
                session_epoch=epoch,
                topics=[FetchTopic(topic=self.topic, partitions=wanted)] if wanted else [],
                forgotten_topics_data=dropped if forgotten else [],
            )
        )

    def open(self) -> Any:
        """Begin with all three partitions from offset 0 on."""
        answer = self.fetch(FULL, [(0, 0), (1, 0), (2, 0)], session_id=0)
        self.id = answer.session_id
        return answer


def _partitions(answer: Any) -> list[int]:
    assert answer.error_code == ErrorCode.NONE
    return [p.partition for topic in answer.responses for p in topic.partition_responses]


@pytest.fixture(scope="module")
def client(target: Target) -> Iterator[SimpleClient]:
    with target.connect() as connection:
        yield connection


@pytest.fixture
def session(client: SimpleClient) -> Session:
    return Session(client)


def test_full_fetch_opens_a_session_and_tells_all_partitions(session: Session) -> None:
    answer = session.open()
    assert answer.session_id > 0
    assert sorted(_partitions(answer)) == [0, 1, 2]


def test_incremental_fetch_tells_only_what_changed(session: Session) -> None:
    session.open()
    assert _partitions(session.fetch(1)) == []
    wire.append(session.client, session.topic, b"news", partition=1)
    answer = session.fetch(2)
    assert answer.session_id == session.id
    assert _partitions(answer) == [1]
    # The position in the session moves only when the client says so.
    assert _partitions(session.fetch(3)) == [1]
    assert _partitions(session.fetch(4, [(1, 1)])) == []


def test_partition_can_be_added_and_forgotten(session: Session) -> None:
    session.id = session.fetch(FULL, [(0, 0)], session_id=0).session_id
    for partition in (0, 2):
        wire.append(session.client, session.topic, b"value", partition=partition)
    assert _partitions(session.fetch(1)) == [0]
    assert sorted(_partitions(session.fetch(2, [(2, 0)]))) == [0, 2]
    assert _partitions(session.fetch(3, forgotten=[0])) == [2]


def test_unknown_session_is_refused(session: Session) -> None:
    answer = session.fetch(1, session_id=123_456)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert answer.responses == []


@pytest.mark.parametrize("epoch", [2, 7])
def test_wrong_epoch_is_refused(session: Session, epoch: int) -> None:
    session.open()
    assert session.fetch(epoch).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert session.fetch(1).error_code == ErrorCode.NONE


def test_session_can_be_closed(session: Session) -> None:
    session.open()
    answer = session.fetch(CLOSE, [(0, 0)])
    assert (answer.error_code, answer.session_id) == (ErrorCode.NONE, 0)
    assert session.fetch(1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_fetch_without_session_has_none(session: Session) -> None:
    answer = session.fetch(CLOSE, [(0, 0), (1, 0)], session_id=0)
    assert answer.session_id == 0
    assert sorted(_partitions(answer)) == [0, 1]


def test_old_versions_have_no_sessions(session: Session) -> None:
    request = wire.fetch_request(session.topic, 0, session_id=9, session_epoch=9, max_wait_ms=0)
    assert session.client.send(request, 6).error_code == ErrorCode.NONE
