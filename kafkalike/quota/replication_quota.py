"""How much replication traffic a broker sends or takes for partitions under a throttle (KIP-73).

Which partitions those are the topics say (`leader.replication.throttled.replicas`, and the like for
followers), how much the broker (`leader.replication.throttled.rate`). Replicas in sync never wait.
"""

from collections.abc import Callable, Iterable, Mapping

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.quota.sampled_rate import SampledRate

_EVERY_REPLICA = "*"


class ReplicationQuota:
    """One direction: what a broker sends as leader, or what it takes as follower."""

    def __init__(
        self, num_samples: int, window_seconds: int, bytes_per_s: Callable[[], float]
    ) -> None:
        self._rate = SampledRate(num_samples, window_seconds * 1000)
        self._throttled: dict[str, frozenset[int] | None] = {}  # None is every partition
        self._bytes_per_s = bytes_per_s

    def update_topic(self, topic: str, throttled_replicas: Iterable[str], broker_id: int) -> None:
        """Take over which replicas of a topic are throttled: `partition:broker` or `*`."""
        entries = [entry for entry in throttled_replicas if entry]
        if _EVERY_REPLICA in entries:
            self._throttled[topic] = None
            return
        pairs = (entry.split(":") for entry in entries)
        here = frozenset(int(partition) for partition, broker in pairs if int(broker) == broker_id)
        if here:
            self._throttled[topic] = here
        else:
            self._throttled.pop(topic, None)

    @property
    def is_in_use(self) -> bool:
        """Whether anything is throttled at all."""
        return bool(self._throttled)

    def is_throttled(self, tp: TopicPartition) -> bool:
        """Whether a partition counts, and may have to wait."""
        if tp.topic not in self._throttled:
            return False
        partitions = self._throttled[tp.topic]
        return partitions is None or tp.partition in partitions

    def is_exceeded(self, now_ms: int) -> bool:
        """Whether throttled partitions must wait now."""
        return self._rate.per_second(now_ms) > self._bytes_per_s()

    def must_wait(self, tp: TopicPartition, now_ms: int) -> bool:
        """Whether a replica of this partition that is not in sync must wait."""
        return bool(self._throttled) and self.is_throttled(tp) and self.is_exceeded(now_ms)

    def record(self, sizes: Mapping[TopicPartition, int], now_ms: int) -> None:
        """Count what was sent or taken for throttled partitions."""
        if self._throttled:
            total = sum(size for tp, size in sizes.items() if self.is_throttled(tp))
            if total:
                self._rate.record(total, now_ms)


class ReplicationQuotas:
    """Both directions, as topics and broker configure them."""

    def __init__(
        self, broker_id: int, leader: ReplicationQuota, follower: ReplicationQuota
    ) -> None:
        self._broker_id = broker_id
        self.leader = leader
        self.follower = follower

    def update_topic(self, topic: str, leaders: Iterable[str], followers: Iterable[str]) -> None:
        """Take over which replicas of a topic are throttled."""
        self.leader.update_topic(topic, leaders, self._broker_id)
        self.follower.update_topic(topic, followers, self._broker_id)
