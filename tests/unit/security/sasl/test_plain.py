import pytest

from kafkalike.protocol.errors import SaslAuthenticationError
from kafkalike.security.sasl.plain import PlainClient, PlainServer, password_check

OTHER_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)
CHECK = password_check({"username": "admin", "user_alice": "secret", "user_bob": ""})


def test_the_right_password_says_who_it_is() -> None:
    server, client = PlainServer(CHECK), PlainClient("alice", "secret")
    assert server.evaluate(client.evaluate(b"")) == b""
    assert server.is_complete
    assert client.is_complete
    assert server.authorization_id == "alice"


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
        (b"\0nobody\0secret", "Authentication failed: Invalid username or password"),
        (b"\0username\0admin", "Authentication failed: Invalid username or password"),
        (b"\0\0secret", "Authentication failed: username not specified"),
        (b"\0alice\0", "Authentication failed: password not specified"),
        (b"\0bob\0", "Authentication failed: password not specified"),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (b"a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        (b"bob\0alice\0secret", OTHER_ID),
    ],
)
def test_anything_else_is_refused_in_kafkas_words(token: bytes, problem: str) -> None:
    server = PlainServer(CHECK)
    with pytest.raises(SaslAuthenticationError) as refused:
        server.evaluate(token)
    assert str(refused.value) == problem
    assert not server.is_complete


def test_the_authorization_id_may_repeat_the_user() -> None:
    server = PlainServer(CHECK)
    server.evaluate(b"alice\0alice\0secret")
    assert server.authorization_id == "alice"


def test_the_log_learns_who_tried() -> None:
    server = PlainServer(CHECK)
    with pytest.raises(SaslAuthenticationError):
        server.evaluate(b"\0alice\0wrong")
    assert server.claimed_id == "alice"
