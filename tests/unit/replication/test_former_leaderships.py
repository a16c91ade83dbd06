"""Leaderships that were lost are remembered with their time, up to a bound."""

import pytest

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.replication import former_leaderships
from kafkalike.replication.former_leaderships import FormerLeaderships

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def test_leadership_is_lost_since_any_time_up_to_its_loss() -> None:
    former = FormerLeaderships()
    former.lost(TP, 1000)
    assert former.is_lost_since(TP, 999)
    assert former.is_lost_since(TP, 1000)
    assert not former.is_lost_since(TP, 1001)
    assert not former.is_lost_since(OTHER, 0)


def test_last_loss_counts() -> None:
    former = FormerLeaderships()
    former.lost(TP, 1000)
    former.lost(TP, 2000)
    assert former.is_lost_since(TP, 1500)
    assert len(former) == 1


def test_oldest_loss_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former_leaderships, "MAX_REMEMBERED", 2)
    former = FormerLeaderships()
    third = TopicPartition("t", 2)
    for tp, now_ms in ((TP, 1), (OTHER, 2), (TP, 3), (third, 4)):
        former.lost(tp, now_ms)
    assert not former.is_lost_since(OTHER, 0)
    assert former.is_lost_since(TP, 0)
    assert former.is_lost_since(third, 0)
