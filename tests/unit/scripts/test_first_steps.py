import pytest

from scripts.first_steps.messages import MessagesLostError, compare, make
from scripts.first_steps.trucks import keep_latest


def test_made_messages_are_as_many_as_asked_and_all_different() -> None:
    made = [message for of_partition in make(1000).values() for message in of_partition]
    assert len(set(made)) == len(made) == 1000


def test_a_trucks_messages_share_a_partition() -> None:
    partitions = {
        (key, partition) for partition, messages in make(100).items() for key, _ in messages
    }
    assert len(partitions) == len({key for key, _ in partitions}) == 10


def test_all_messages_back_is_success() -> None:
    assert compare(make(50), make(50)).startswith("50 of them")


def test_lost_message_is_counted() -> None:
    received = make(50)
    del received[1][3]
    with pytest.raises(MessagesLostError, match=r"partition 1: 15 sent, 14 received, 1 missing"):
        compare(make(50), received)


def test_changed_message_is_noticed() -> None:
    received = make(50)
    received[0][0] = (b"truck-0", b"elsewhere")
    with pytest.raises(MessagesLostError, match="1 missing or changed"):
        compare(make(50), received)


def test_wrong_order_is_noticed() -> None:
    received = make(50)
    received[2].reverse()
    with pytest.raises(MessagesLostError, match="partition 2"):
        compare(make(50), received)


def test_message_that_came_twice_is_noticed() -> None:
    received = make(50)
    received[2].append(received[2][-1])
    with pytest.raises(MessagesLostError, match="15 sent, 16 received"):
        compare(make(50), received)


def test_partition_that_came_not_at_all_is_noticed() -> None:
    received = make(50)
    del received[2]
    with pytest.raises(MessagesLostError, match="partition 2: 15 sent, 0 received"):
        compare(make(50), received)


def test_window_that_comes_late_does_not_hide_a_later_one() -> None:
    last: dict[str, dict[str, object]] = {}
    for start in ("10:01", "10:02", "10:00"):
        keep_latest(last, {"truck_id": "a", "window_start": start})
    assert last["a"]["window_start"] == "10:02"
