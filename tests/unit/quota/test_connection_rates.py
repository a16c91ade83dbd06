"""Connections that come too fast: by an address, by a listener, by all (KIP-612)."""

import pytest

from kafkalike.quota import connection_rates
from kafkalike.quota.connection_rates import ADMITTED, ConnectionRates


def some_rates() -> ConnectionRates:
    return ConnectionRates(num_samples=11, window_s=1)


def test_without_limits_nothing_is_counted() -> None:
    rates = some_rates()
    assert not rates.is_active
    assert all(rates.admit("L", "h", 0) == ADMITTED for _ in range(1000))
    assert rates._ips == {}


def test_address_that_is_too_fast_is_refused_after_a_while_and_others_are_not() -> None:
    """The quota connection_creation_rate of an address."""
    rates = some_rates()
    rates.update_ip("1.1.1.1", 2)
    admitted = [rates.admit("L", "1.1.1.1", 0) for _ in range(30)]
    assert sum(one.is_served for one in admitted) == 20
    refused = [one for one in admitted if not one.is_served]
    assert all(0 < one.delay_ms <= 1000 for one in refused)
    assert rates.admit("L", "2.2.2.2", 0) == ADMITTED


def test_default_holds_for_addresses_without_a_limit_of_their_own() -> None:
    rates = some_rates()
    rates.update_ip(None, 1)
    rates.update_ip("1.1.1.1", 100)
    assert sum(rates.admit("L", "2.2.2.2", 0).is_served for _ in range(30)) == 10
    assert all(rates.admit("L", "1.1.1.1", 0).is_served for _ in range(30))
    rates.update_ip(None, None)
    assert rates.admit("L", "2.2.2.2", 0).is_served


def test_refused_address_is_let_in_again_with_time() -> None:
    rates = some_rates()
    rates.update_ip(None, 1)
    for _ in range(30):
        rates.admit("L", "h", 0)
    assert rates.admit("L", "h", 12_000) == ADMITTED


def test_broker_that_gets_too_many_lets_them_wait() -> None:
    rates = some_rates()
    rates.update_limits(2, {})
    admitted = [rates.admit("L", f"10.0.0.{n}", 0) for n in range(30)]
    assert all(one.is_served for one in admitted)
    assert admitted[19].delay_ms == 0
    assert admitted[25].delay_ms > 0


def test_listener_has_a_limit_of_its_own() -> None:
    rates = some_rates()
    rates.update_limits(None, {"EXTERNAL": 1})
    outside = [rates.admit("EXTERNAL", "h", 0) for _ in range(12)]
    assert outside[-1].delay_ms > 0
    assert rates.admit("INTERNAL", "h", 0) == ADMITTED


def test_ever_new_addresses_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a client may choose freely is bounded."""
    monkeypatch.setattr(connection_rates, "_MAX_ADDRESSES", 50)
    rates = some_rates()
    rates.update_ip(None, 100)
    for number in range(500):
        rates.admit("L", f"address-{number}", 0)
    assert len(rates._ips) == 50
