"""Client quotas: whose quota holds, how long a client waits, and what is bounded."""

import pytest

from kafkalike.quota import client_quota_manager
from kafkalike.quota.client_quota_manager import ClientQuotaManager
from kafkalike.quota.client_quotas import DEFAULT, DefaultQuotaCallback, QuotaEntity
from kafkalike.quota.quota_type import QuotaType
from kafkalike.quota.token_bucket import TokenBucket

E = QuotaEntity


def a_manager(static: float | None = None, max_wait_ms: int | None = None) -> ClientQuotaManager:
    defaults = {} if static is None else {QuotaType.PRODUCE: static}
    return ClientQuotaManager(
        QuotaType.PRODUCE,
        DefaultQuotaCallback(defaults),
        num_samples=11,
        window_s=1,
        is_enabled=static is not None,
        max_wait_ms=max_wait_ms,
    )


def limit(manager: ClientQuotaManager, user: str, client_id: str) -> float:
    return manager.max_in_window(user, client_id, 0) / 10


def test_manager_is_off_until_somebody_has_a_quota() -> None:
    manager = a_manager()
    assert not manager.is_enabled
    manager.update(E("al", None), 10.0)
    assert manager.is_enabled
    assert a_manager(static=5).is_enabled


@pytest.mark.parametrize("number", range(9))
def test_most_special_quota_holds(number: int) -> None:
    """Precedence as Kafka documents it, from <user, client> to the static default."""
    entities = [
        E("al", "app"),
        E("al", DEFAULT),
        E("al", None),
        E(DEFAULT, "app"),
        E(DEFAULT, DEFAULT),
        E(DEFAULT, None),
        E(None, "app"),
        E(None, DEFAULT),
    ]
    manager = a_manager(static=1009)
    for index, entity in enumerate(entities):
        if index >= number:
            manager.update(entity, 1001.0 + index)
    assert limit(manager, "al", "app") == 1001.0 + number


def test_client_ids_of_a_user_share_the_quota_of_the_user() -> None:
    manager = a_manager()
    manager.update(E("al", None), 100.0)
    assert manager.record("al", "one", 900, 1000) == 0
    assert manager.record("al", "two", 900, 1000) > 0
    assert manager.record("bo", "one", 10_000, 1000) == 0


def test_each_client_id_has_a_default_quota_of_its_own() -> None:
    manager = a_manager()
    manager.update(E(None, DEFAULT), 100.0)
    assert manager.record("al", "one", 1100, 1000) > 0
    assert manager.record("al", "two", 900, 1000) == 0


def test_wait_is_what_brings_the_rate_back_to_the_quota() -> None:
    """X = (rate - quota) / quota * window, as Kafka's QuotaUtils has it."""
    manager = a_manager()
    manager.update(E(None, "app"), 100.0)
    # 2000 bytes in a window of 10 s are 200 a second, twice the quota: another 10 s are needed.
    assert manager.record("al", "app", 2000, 1000) == 10_000


def test_wait_for_request_time_is_at_most_one_window() -> None:
    manager = a_manager(max_wait_ms=1000)
    manager.update(E(None, "app"), 1.0)
    assert manager.record("al", "app", 5000, 1000) == 1000


def test_what_was_not_sent_is_taken_back() -> None:
    manager = a_manager()
    manager.update(E(None, "app"), 100.0)
    assert manager.record("al", "app", 2000, 1000) > 0
    manager.unrecord("al", "app", 2000, 1000)
    assert manager.record("al", "app", 10, 1000) == 0


def test_changed_quota_holds_for_clients_that_are_there() -> None:
    manager = a_manager()
    manager.update(E(None, "app"), 100.0)
    assert manager.record("al", "app", 2000, 1000) > 0
    manager.update(E(None, "app"), 1_000_000.0)
    assert manager.record("al", "app", 2000, 1000) == 0


def test_removed_quota_holds_no_more() -> None:
    manager = a_manager()
    manager.update(E("al", None), 1.0)
    manager.record("al", "app", 2000, 1000)
    manager.update(E("al", None), None)
    assert manager.record("al", "app", 2000, 1000) == 0


def test_names_are_compared_as_zookeeper_has_them() -> None:
    manager = a_manager()
    manager.update(E("CN%3Dal%2CO%3Dx", None), 7.0)
    assert limit(manager, "CN=al,O=x", "app") == 7.0


def test_ever_new_client_ids_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client may choose freely is bounded."""
    monkeypatch.setattr(client_quota_manager, "_MAX_SENSORS", 200)
    manager = a_manager()
    manager.update(E(None, DEFAULT), 100.0)
    for number in range(1000):
        manager.record("al", f"client-{number}", 1, number)
    assert len(manager._sensors) <= 200
    assert len(manager._clients) <= 200


# --- token buckets


def test_bucket_allows_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(burst_s=10)
    assert bucket.tokens(2, 0) == 20
    bucket.take(20, 2, 0)
    assert bucket.wait_ms(2, 0) == 0
    bucket.take(4, 2, 0)
    assert bucket.wait_ms(2, 0) == 2000
    assert bucket.wait_ms(2, 2000) == 0


def test_bucket_holds_no_more_than_a_burst() -> None:
    bucket = TokenBucket(burst_s=10)
    bucket.take(5, 2, 0)
    assert bucket.tokens(2, 1_000_000) == 20
