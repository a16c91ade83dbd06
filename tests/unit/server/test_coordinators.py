"""Coordinators hear of the leaders of their own topic, and of nothing else."""

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.server.coordinators import leadership_listener


class Coordinator:
    def __init__(self) -> None:
        self.heard: list[tuple[str, int, int | None]] = []

    def on_election(self, partition: int, epoch: int) -> None:
        self.heard.append(("elected", partition, epoch))

    def on_resignation(self, partition: int, epoch: int | None) -> None:
        self.heard.append(("resigned", partition, epoch))


def test_each_coordinator_hears_of_its_own_topic() -> None:
    groups, transactions = Coordinator(), Coordinator()
    changed = leadership_listener({"g": groups, "t": transactions})
    changed(TopicPartition("g", 1), 5, is_leader=True)
    changed(TopicPartition("t", 2), 6, is_leader=False)
    changed(TopicPartition("g", 1), None, is_leader=False)
    changed(TopicPartition("other", 0), 1, is_leader=True)
    assert groups.heard == [("elected", 1, 5), ("resigned", 1, None)]
    assert transactions.heard == [("resigned", 2, 6)]
