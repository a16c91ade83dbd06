"""Handlers and watches: who is told, and what is noticed after a lost connection."""

import pytest

from kafkalike.zk.ops import Stat
from kafkalike.zk.watches import Watches, ZNodeChangeHandler, ZNodeChildChangeHandler
from tests.support.log_observer import FailureObserver


def a_stat(mzxid: int = 1, pzxid: int = 1) -> Stat:
    return Stat(1, mzxid, 0, 0, 0, 0, 0, 0, 0, 0, pzxid)


@pytest.fixture
def heard() -> list[str]:
    return []


@pytest.fixture
def watches(heard: list[str]) -> Watches:
    """Watches with a handler of either kind for `/a`."""
    watches = Watches()
    watches.register_change_handler(
        ZNodeChangeHandler(
            path="/a",
            on_creation=lambda: heard.append("created"),
            on_deletion=lambda: heard.append("deleted"),
            on_data_change=lambda: heard.append("data"),
        )
    )
    watches.register_child_change_handler(
        ZNodeChildChangeHandler(path="/a", on_child_change=lambda: heard.append("children"))
    )
    return watches


def test_watch_is_wanted_where_a_handler_is(watches: Watches) -> None:
    assert (watches.wants_data("/a"), watches.wants_children("/a")) == (True, True)
    assert (watches.wants_data("/b"), watches.wants_children("/b")) == (False, False)
    watches.unregister_change_handler("/a")
    watches.unregister_child_change_handler("/a")
    assert (watches.wants_data("/a"), watches.wants_children("/a")) == (False, False)


def test_handler_is_told_what_happened(watches: Watches, heard: list[str]) -> None:
    watches.created("/a")
    watches.data_changed("/a")
    watches.deleted("/a")
    watches.children_changed("/a")
    assert heard == ["created", "data", "deleted", "children"]


def test_event_without_a_handler_is_nothing(watches: Watches, heard: list[str]) -> None:
    for event in (
        watches.created,
        watches.data_changed,
        watches.deleted,
        watches.children_changed,
    ):
        event("/b")
    watches.data_watched("/b", a_stat())
    watches.children_watched("/b", a_stat())
    assert (watches.set_on_data(), watches.set_on_children(), heard) == ([], [], [])


def test_event_uses_its_watch_up(watches: Watches) -> None:
    watches.data_watched("/a", a_stat())
    watches.children_watched("/a", a_stat())
    assert (watches.set_on_data(), watches.set_on_children()) == (["/a"], ["/a"])
    watches.data_changed("/a")
    assert (watches.set_on_data(), watches.set_on_children()) == ([], ["/a"])
    watches.children_changed("/a")
    assert watches.set_on_children() == []


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (None, None, []),
        (None, a_stat(mzxid=5), ["created"]),
        (a_stat(mzxid=5), None, ["deleted"]),
        (a_stat(mzxid=5), a_stat(mzxid=6), ["data"]),
        (a_stat(mzxid=5), a_stat(mzxid=5, pzxid=9), []),
    ],
)
def test_missed_change_of_a_znode_is_noticed(
    watches: Watches, heard: list[str], before: Stat | None, now: Stat | None, told: list[str]
) -> None:
    watches.data_watched("/a", before)
    watches.recheck_data("/a", now)
    assert heard == told
    assert watches.set_on_data() == ([] if told else ["/a"])


@pytest.mark.parametrize(("now", "told"), [(a_stat(pzxid=5), []), (a_stat(pzxid=6), ["children"])])
def test_missed_change_of_children_is_noticed(
    watches: Watches, heard: list[str], now: Stat, told: list[str]
) -> None:
    watches.children_watched("/a", a_stat(pzxid=5))
    watches.recheck_children("/a", now)
    assert heard == told


def test_recheck_of_a_watch_that_was_used_up_meanwhile_tells_nothing(
    watches: Watches, heard: list[str]
) -> None:
    watches.data_watched("/a", a_stat(mzxid=5))
    watches.data_changed("/a")
    watches.recheck_data("/a", a_stat(mzxid=6))
    watches.recheck_children("/a", a_stat(pzxid=6))
    assert heard == ["data"]


def test_expiry_ends_watches_and_leaves_handlers(watches: Watches) -> None:
    watches.data_watched("/a", a_stat())
    watches.children_watched("/a", a_stat())
    watches.session_expired()
    assert (watches.set_on_data(), watches.set_on_children()) == ([], [])
    assert watches.wants_data("/a")
    watches.clear()
    assert not watches.wants_data("/a")


def test_failing_handler_is_logged(watches: Watches, logged_failures: FailureObserver) -> None:
    def fail() -> None:
        raise RuntimeError("a bug")

    watches.register_change_handler(ZNodeChangeHandler.for_any_change("/b", fail))
    watches.created("/b")
    assert "/b" in logged_failures.expect()[0]
