"""A follower as its leader sees it: how far it has fetched, and when it was last caught up."""

from dataclasses import dataclass


@dataclass(slots=True)
class Replica:
    """Kafka's remote Replica; owned and changed by its Partition alone."""

    broker_id: int
    log_end_offset: int = -1
    log_start_offset: int = -1
    last_fetch_leader_log_end_offset: int = 0
    last_fetch_time_ms: int = 0
    last_caught_up_time_ms: int = 0
    unwanted_until_ms: int = 0

    def update_fetch_state(
        self, fetch_offset: int, log_start_offset: int, leader_end_offset: int, now_ms: int
    ) -> None:
        """Take note of a fetch: it tells what the follower has.

        A follower is caught up if it has all that the leader has now, or all that the leader had
        at its last fetch: the latter for one that is always one fetch behind under steady load.
        """
        caught_up_ms = 0
        if fetch_offset >= leader_end_offset:
            caught_up_ms = now_ms
        elif fetch_offset >= self.last_fetch_leader_log_end_offset:
            caught_up_ms = self.last_fetch_time_ms
        if caught_up_ms >= self.unwanted_until_ms:
            self.last_caught_up_time_ms = max(self.last_caught_up_time_ms, caught_up_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_log_end_offset = leader_end_offset
        self.last_fetch_time_ms = now_ms

    def reset(
        self, caught_up_time_ms: int, leader_end_offset: int, *, keeps_position: bool
    ) -> None:
        """Begin anew in another epoch; a leader that stays leader knows how far the replica is."""
        if not keeps_position:
            self.log_end_offset = -1
            self.log_start_offset = -1
        self.last_fetch_leader_log_end_offset = leader_end_offset
        self.last_fetch_time_ms = caught_up_time_ms
        self.last_caught_up_time_ms = caught_up_time_ms
        self.unwanted_until_ms = 0

    def refuse(self, until_ms: int) -> None:
        """Count as behind for a while: the controller did not let it into the ISR."""
        self.last_caught_up_time_ms = 0
        self.unwanted_until_ms = until_ms

    @property
    def is_unwanted(self) -> bool:
        """Whether it is too early to ask the controller again."""
        return self.last_fetch_time_ms < self.unwanted_until_ms

    def is_caught_up(self, leader_end_offset: int, now_ms: int, max_lag_ms: int) -> bool:
        """Whether the replica may stay in the ISR."""
        if self.log_end_offset == leader_end_offset:
            return True
        return now_ms - self.last_caught_up_time_ms <= max_lag_ms
