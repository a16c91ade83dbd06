"""Random histories of a small cluster: whatever happens, leaders stay unique and all ends well.

ZooKeeper and brokers answer late; brokers die, return, lose their session or their connection;
topics come, grow and go. A seed replays its history.
"""

import json
from random import Random
from typing import Any

import pytest

from kafkalike.controller.events import ElectionType
from kafkalike.model.leader_and_isr import NO_LEADER
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.zk.errors import ZkError
from tests.support.controller_cluster import ControllerCluster
from tests.support.run import start

BROKERS = (1, 2, 3, 4)
STEPS = 40


class History:
    """A cluster to which things happen by chance."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.cluster = ControllerCluster({"leader.imbalance.check.interval.seconds": "2"})
        self.cluster.zookeeper.is_delayed = True
        self.cluster.latency_ms = lambda: self.random.randrange(4)
        self.reassigned: set[TopicPartition] = set()
        for broker_id in BROKERS:
            self.cluster.start_broker(broker_id)
            self.pump()
        self.create_topic()
        self.cluster.zookeeper.pump()

    def step(self) -> None:
        to_brokers = (self.kill, self.stop, self.start, self.start, self.silence)
        to_sessions = (self.expire, self.suspend, self.resume, self.lose_answer)
        to_topics = (self.create_topic, self.create_topic, self.delete_topic, self.reassign)
        self.random.choice((*to_brokers, *to_sessions, *to_topics, self.elect))()
        self.pump()

    def pump(self) -> None:
        self.cluster.zookeeper.pump(self.random.choice((0, 1, 3, 10, 100)))

    def kill(self) -> None:
        if len(self.cluster.members) > 1:
            self._end(self.random.choice(list(self.cluster.members)))

    def stop(self) -> None:
        """Stop a broker in an orderly way, should it find the controller."""
        if len(self.cluster.members) > 1:
            broker_id = self.random.choice(list(self.cluster.members))
            epoch = self.cluster.brokers[broker_id].epoch
            asked = start(self._some_member().controller.controlled_shutdown(broker_id, epoch))
            asked.addErrback(lambda _: None)
            self.pump()
            self._end(broker_id)

    def _end(self, broker_id: int) -> None:
        member = self.cluster.members.pop(broker_id)
        member.controller.shutdown()
        start(member.session.close())

    def start(self) -> None:
        away = [i for i in BROKERS if i not in self.cluster.members]
        if away:
            broker_id = self.random.choice(away)
            if not self.cluster.has_path(f"/brokers/ids/{broker_id}"):
                self.cluster.start_broker(broker_id)

    def expire(self) -> None:
        self._some_session().expire()

    def suspend(self) -> None:
        self._some_session().suspend()

    def resume(self) -> None:
        self._some_session().resume()

    def lose_answer(self) -> None:
        self._some_session().lose_next_answer()

    def elect(self) -> None:
        partitions = [TopicPartition(self.random.choice("abcdef"), 0)]
        kind = self.random.choice(list(ElectionType))
        start(self._some_member().controller.elect_leaders(partitions, kind))

    def create_topic(self) -> None:
        topic = self.random.choice("abcdef")
        partitions = range(self.random.randrange(1, 4))
        replicas = {TopicPartition(topic, p): self._some_replicas() for p in partitions}
        zk = self._some_member().zk
        self._ask(zk.create_topic_assignment(topic, self.cluster.new_topic_id(), replicas))

    def delete_topic(self) -> None:
        topic = self.random.choice("abcdef")
        self._ask(self._some_member().zk.create_delete_topic_path(topic))

    def reassign(self) -> None:
        tp = TopicPartition(self.random.choice("abcdef"), 0)
        target = self._some_replicas()
        self.reassigned.add(tp)
        controller = self._some_member().controller
        asked = start(controller.alter_partition_reassignments({tp: target}))
        asked.addErrback(lambda _: None)

    def silence(self) -> None:
        broker = self.cluster.brokers[self.random.choice(BROKERS)]
        broker.is_reachable = not broker.is_reachable

    def heal(self) -> None:
        """Let everything work again, and wait until nothing happens any more."""
        for broker in self.cluster.brokers.values():
            broker.is_reachable = True
        for _ in range(3):
            self.reconnect()
            for _ in BROKERS:
                self.start()
            self.reconnect()
        for _ in range(10):
            self.leaders_report_all_replicas_in_sync()
            self.reconnect()
        self.wait_until_nothing_happens()

    def reconnect(self) -> None:
        for member in self.cluster.members.values():
            member.session.resume()
        self.cluster.zookeeper.pump(300)

    def wait_until_nothing_happens(self) -> None:
        before = -1
        while before != len(self.cluster.zookeeper.writes) + len(self.cluster.sent):
            before = len(self.cluster.zookeeper.writes) + len(self.cluster.sent)
            self.reconnect()

    def end(self) -> None:
        """Leave nothing behind that waits."""
        for broker_id in list(self.cluster.members):
            self._end(broker_id)
        self.cluster.zookeeper.pump(300)

    def leaders_report_all_replicas_in_sync(self) -> None:
        """Do what leaders do once their followers have caught up."""
        cluster = self.cluster
        for tp in list(cluster.controller.context.leadership):
            state = cluster.controller.context.leadership[tp].leader_and_isr
            live = cluster.controller.context.live_replicas(tp)
            if state.leader in live and set(live) - set(state.isr):
                zk = cluster.members[state.leader].zk
                new = type(state)(state.leader, state.leader_epoch, live, state.zk_version)
                self._ask(zk.conditional_update_isr(tp, new, cluster.controller.epoch))
                self._ask(zk.propagate_isr_changes([tp]))

    def _some_member(self) -> Any:
        return self.random.choice(list(self.cluster.members.values()))

    def _some_session(self) -> Any:
        return self._some_member().session

    def _some_replicas(self) -> tuple[int, ...]:
        return tuple(self.random.sample(BROKERS, self.random.randrange(1, 4)))

    @staticmethod
    def _ask(coroutine: Any) -> None:
        """Begin a request of somebody else; ZooKeeper may refuse it."""
        start(coroutine).addErrback(lambda failure: failure.trap(ZkError) and None)


def check_states(writes: list[dict[str, Any]]) -> int:
    """One leader per epoch, epochs never fall, leaders are in sync; count the states seen."""
    latest: dict[str, dict[str, Any]] = {}
    count = 0
    for write in writes:
        for op in write.get("ops", [write]):
            path = op.get("path", "")
            if not path.endswith("/state"):
                continue
            if op["op"] == "delete":
                latest.pop(path, None)
            elif op["op"] in ("create", "setData") and write["op"] != "error":
                state = json.loads(op["data"])
                before = latest.get(path, {"leader_epoch": -1, "controller_epoch": -1})
                assert state["leader_epoch"] >= before["leader_epoch"], path
                if state["leader_epoch"] == before["leader_epoch"]:
                    assert state["leader"] == before["leader"], path
                assert state["controller_epoch"] >= before["controller_epoch"], path
                assert state["leader"] in (NO_LEADER, *state["isr"]), path
                latest[path] = state
                count += 1
    return count


@pytest.mark.parametrize("seed", range(60))
def test_any_history_ends_with_one_controller_and_every_partition_led(seed: int) -> None:
    """M34, M40: never two leaders in one epoch, and always one controller in the end."""
    history = History(seed)
    for _ in range(STEPS):
        history.step()
    history.heal()
    cluster = history.cluster
    assert check_states(cluster.zookeeper.writes) > 0
    controller = cluster.controller
    context = controller.context
    assert sorted(context.live_broker_ids) == list(BROKERS)
    assert not [p for p in cluster.zookeeper.paths() if p.startswith("/admin/delete_topics/")]
    assert not context.partitions_being_reassigned
    for tp in context.all_partitions:
        state = cluster.state(*tp)
        assert context.leadership[tp].leader_and_isr == state
        assert state.leader in context.replicas(tp), (tp, state)
        for replica in context.replicas(tp):
            told = cluster.brokers[replica].partitions[tp]
            assert (told.leader, told.leader_epoch) == (state.leader, state.leader_epoch)
        for broker in cluster.brokers.values():
            assert broker.metadata[tp].leader_epoch == state.leader_epoch
    for broker in cluster.brokers.values():
        for tp in broker.partitions:
            # As in Kafka, nobody waits for the replicas that a reassignment removes.
            assert broker.id in context.replicas(tp) or tp in history.reassigned
    history.end()
