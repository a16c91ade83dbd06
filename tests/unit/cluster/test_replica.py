from kafkalike.cluster.replica import Replica

MAX_LAG_MS = 100


def test_a_follower_at_the_log_end_is_caught_up_now() -> None:
    replica = Replica(2)
    replica.update_fetch_state(10, 0, leader_end_offset=10, now_ms=500)
    assert replica.last_caught_up_time_ms == 500
    assert replica.is_caught_up(10, now_ms=9999, max_lag_ms=MAX_LAG_MS)


def test_a_follower_that_has_what_there_was_at_its_last_fetch_was_caught_up_then() -> None:
    replica = Replica(2)
    replica.update_fetch_state(5, 0, leader_end_offset=10, now_ms=500)
    replica.update_fetch_state(10, 0, leader_end_offset=20, now_ms=600)
    assert replica.last_caught_up_time_ms == 500
    assert replica.is_caught_up(20, now_ms=600, max_lag_ms=MAX_LAG_MS)
    assert not replica.is_caught_up(20, now_ms=601, max_lag_ms=MAX_LAG_MS)


def test_a_follower_that_falls_behind_keeps_its_last_good_time() -> None:
    replica = Replica(2)
    replica.update_fetch_state(10, 0, leader_end_offset=10, now_ms=500)
    replica.update_fetch_state(9, 3, leader_end_offset=99, now_ms=600)
    replica.update_fetch_state(12, 4, leader_end_offset=199, now_ms=700)
    assert replica.last_caught_up_time_ms == 500
    assert (replica.log_end_offset, replica.log_start_offset) == (12, 4)


def test_a_new_leader_begins_without_knowing_where_followers_are() -> None:
    replica = Replica(2)
    replica.update_fetch_state(10, 1, leader_end_offset=10, now_ms=500)
    replica.reset(700, 20, keeps_position=False)
    assert (replica.log_end_offset, replica.log_start_offset) == (-1, -1)
    assert replica.is_caught_up(20, now_ms=700 + MAX_LAG_MS, max_lag_ms=MAX_LAG_MS)
    assert not replica.is_caught_up(20, now_ms=701 + MAX_LAG_MS, max_lag_ms=MAX_LAG_MS)


def test_a_leader_that_stays_leader_knows_where_followers_are() -> None:
    replica = Replica(2)
    replica.update_fetch_state(10, 1, leader_end_offset=10, now_ms=500)
    replica.reset(700, 20, keeps_position=True)
    assert (replica.log_end_offset, replica.log_start_offset) == (10, 1)
