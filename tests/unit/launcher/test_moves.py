from kafkalike.launcher.moves import throttled_replicas
from kafkalike.model.topic_partition import TopicPartition


def test_throttle_names_old_replicas_as_senders_and_new_ones_as_receivers() -> None:
    moved, kept = TopicPartition("t", 0), TopicPartition("t", 1)
    plan = {moved: (0, 3), kept: (1, 0)}
    current = {moved: (0, 1), kept: (0, 1)}
    assert throttled_replicas(plan, current) == {
        "t": {
            "leader.replication.throttled.replicas": "0:0,0:1,1:0,1:1",
            "follower.replication.throttled.replicas": "0:3",
        }
    }
