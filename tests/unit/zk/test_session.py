"""The session's states: every legal step, and none but these."""

import itertools
from collections.abc import Callable

import pytest

from kafkalike.zk.errors import ZkClosedError
from kafkalike.zk.session import Session, SessionCredentials, SessionState, StateChangeHandler
from tests.support.log_observer import FailureObserver
from tests.support.run import result_of

FIRST, SECOND = SessionCredentials(1, b"one"), SessionCredentials(2, b"two")

STEPS: dict[SessionState, Callable[[Session], None]] = {
    SessionState.CONNECTED: lambda session: session.connected(FIRST),
    SessionState.SUSPENDED: lambda session: session.suspended(),
    SessionState.EXPIRED: lambda session: session.expired(),
    SessionState.CLOSED: lambda session: session.closed(),
}
WAYS: dict[SessionState, tuple[SessionState, ...]] = {
    SessionState.CONNECTING: (),
    SessionState.CONNECTED: (SessionState.CONNECTED,),
    SessionState.SUSPENDED: (SessionState.CONNECTED, SessionState.SUSPENDED),
    SessionState.EXPIRED: (SessionState.CONNECTED, SessionState.EXPIRED),
    SessionState.CLOSED: (SessionState.CLOSED,),
}


def session_in(state: SessionState) -> Session:
    session = Session()
    for step in WAYS[state]:
        STEPS[step](session)
    assert session.state is state
    return session


@pytest.mark.parametrize(("before", "after"), list(itertools.product(WAYS, STEPS)))
def test_session_takes_legal_steps_only(before: SessionState, after: SessionState) -> None:
    session = session_in(before)
    if before is after is SessionState.CLOSED:
        session.closed()  # closing twice is no mistake
    elif before in after.predecessors:
        STEPS[after](session)
        assert session.state is after
    else:
        with pytest.raises(AssertionError, match="cannot go from"):
            STEPS[after](session)
        assert session.state is before


def recording(session: Session, name: str = "test") -> list[str]:
    heard: list[str] = []
    session.register(
        StateChangeHandler(
            name=name,
            before_initializing_session=lambda: heard.append("before"),
            after_initializing_session=lambda: heard.append("after"),
            on_suspended=lambda: heard.append("suspended"),
            on_resumed=lambda: heard.append("resumed"),
        )
    )
    return heard


def test_handlers_hear_what_happens() -> None:
    session = Session()
    heard = recording(session)
    session.connected(FIRST)
    assert heard == []
    session.suspended()
    session.connected(FIRST)
    session.expired()
    session.connected(SECOND)
    assert heard == ["suspended", "resumed", "before", "after"]
    assert session.credentials == SECOND


def test_epoch_grows_with_every_interruption() -> None:
    session = session_in(SessionState.CONNECTED)
    assert session.epoch == 0
    session.suspended()
    session.connected(FIRST)
    assert session.epoch == 1
    session.expired()
    session.connected(SECOND)
    assert session.epoch == 2


def test_handler_of_the_same_name_takes_the_place_of_the_first() -> None:
    session = session_in(SessionState.CONNECTED)
    first, second = recording(session), recording(session)
    session.suspended()
    assert (first, second) == ([], ["suspended"])
    session.unregister("test")
    session.unregister("nobody")
    session.connected(FIRST)
    assert second == ["suspended"]


def test_failing_handler_does_not_silence_the_others(logged_failures: FailureObserver) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    session = session_in(SessionState.CONNECTED)
    session.register(StateChangeHandler(name="broken", on_suspended=fail))
    heard = recording(session)
    session.suspended()
    assert heard == ["suspended"]
    assert "broken" in logged_failures.expect()[0]


def test_waiting_ends_with_the_connection() -> None:
    session = Session()
    waiting = session.wait_until_connected()
    assert not waiting.called
    session.connected(FIRST)
    assert result_of(waiting) is None
    assert result_of(session.wait_until_connected()) is None


def test_waiting_ends_with_the_client() -> None:
    session = session_in(SessionState.SUSPENDED)
    waiting = session.wait_until_connected()
    session.closed()
    for waiter in (waiting, session.wait_until_connected()):
        with pytest.raises(ZkClosedError):
            result_of(waiter)


def test_waiting_can_be_given_up() -> None:
    session = Session()
    waiting = session.wait_until_connected()
    waiting.addErrback(lambda _: None)
    waiting.cancel()
    session.connected(FIRST)  # must not fire it again
    assert waiting.called
