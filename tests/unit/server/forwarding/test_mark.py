"""The mark of a forwarded request keeps the client's id and fits the protocol."""

import pytest

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.header import encode_request_header, parse_request_header
from kafkalike.server.forwarding.mark import is_marked, mark, unmarked


@pytest.mark.parametrize("client_id", [None, "", "my-app", "with:colon", "__forwarded-by-2:x"])
def test_client_id_comes_back_from_under_the_mark(client_id: str | None) -> None:
    marked = mark(client_id, 3)
    assert is_marked(marked)
    assert unmarked(marked) == client_id


def test_mark_shows_the_broker_and_the_client() -> None:
    assert mark("my-app", 3) == "__forwarded-by-3:my-app"


@pytest.mark.parametrize("client_id", [None, "", "my-app", "forwarded-by-3"])
def test_client_id_of_a_client_is_not_marked(client_id: str | None) -> None:
    assert not is_marked(client_id)
    assert unmarked(client_id) == client_id


def test_longest_client_id_of_the_protocol_can_be_marked() -> None:
    """Such an id is cut: 4096 characters of it, the worst of them in four bytes, fit."""
    marked = mark("\N{GRINNING FACE}" * 8191, 2**31 - 1)
    header = encode_request_header(ApiKey.PRODUCE, 9, 1, marked)
    assert parse_request_header(header).client_id == marked
