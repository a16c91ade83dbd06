"""Asking the controller for other ISRs: one request at a time, nothing forgotten."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from kafkalike.model.leader_and_isr import LeaderAndIsr
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, NetworkError
from kafkalike.protocol.messages.alter_isr import (
    AlterIsrRequest,
    AlterIsrResponse,
    AlterIsrResponsePartitionData,
    AlterIsrResponseTopicData,
)
from kafkalike.replication.isr_manager import RETRY_MS, IsrManager
from kafkalike.utils.time import Time

A, B = TopicPartition("a", 0), TopicPartition("b", 1)


def wanted(*isr: int, epoch: int = 4, version: int = 7) -> LeaderAndIsr:
    return LeaderAndIsr(1, epoch, isr, version)


class Setup:
    def __init__(self) -> None:
        self.clock = Clock()
        self.sent: list[tuple[AlterIsrRequest, Deferred[Any]]] = []
        self.altered: list[tuple[TopicPartition, LeaderAndIsr]] = []
        self.manager = IsrManager(
            1,
            lambda: 99,
            self._send,
            lambda tp, answer: self.altered.append((tp, answer)),
            Time(self.clock),
        )

    def _send(self, request: AlterIsrRequest) -> "Deferred[Any]":
        answered: Deferred[Any] = Deferred()
        self.sent.append((request, answered))
        return answered

    def answer(self, *partitions: tuple[TopicPartition, LeaderAndIsr | ErrorCode]) -> None:
        topics = []
        for tp, result in partitions:
            data = AlterIsrResponsePartitionData(partition_index=tp.partition)
            if isinstance(result, ErrorCode):
                data.error_code = result
            else:
                data.leader_id, data.leader_epoch = result.leader, result.leader_epoch
                data.isr, data.current_isr_version = list(result.isr), result.zk_version
            topics.append(AlterIsrResponseTopicData(name=tp.topic, partitions=[data]))
        self.sent[-1][1].callback(AlterIsrResponse(topics=topics))

    def asked(self) -> list[dict[TopicPartition, tuple[int, ...]]]:
        return [
            {
                TopicPartition(topic.name, partition.partition_index): tuple(partition.new_isr)
                for topic in request.topics
                for partition in topic.partitions
            }
            for request, _ in self.sent
        ]


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_request_says_who_asks_and_for_what(setup: Setup) -> None:
    setup.manager.submit(A, wanted(1, 2))
    request = setup.sent[0][0]
    partition = request.topics[0].partitions[0]
    assert (request.broker_id, request.broker_epoch) == (1, 99)
    assert (partition.leader_epoch, partition.new_isr) == (4, [1, 2])
    assert partition.current_isr_version == 7


def test_what_comes_while_a_request_is_under_way_goes_with_the_next(setup: Setup) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.manager.submit(B, wanted(1, 3))
    assert setup.asked() == [{A: (1, 2)}]
    setup.answer((A, wanted(1, 2, version=8)))
    assert setup.asked()[1:] == [{B: (1, 3)}]
    assert setup.altered == [(A, wanted(1, 2, version=8))]


def test_failed_request_is_sent_again_with_what_is_newer(
    setup: Setup,
) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.manager.submit(B, wanted(1, 3))
    setup.sent[0][1].errback(NetworkError("unplugged"))
    assert len(setup.sent) == 1
    setup.clock.advance(RETRY_MS / 1000)
    assert setup.asked()[1:] == [{A: (1, 2), B: (1, 3)}]


def test_refused_request_is_sent_again(setup: Setup) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.sent[0][1].callback(AlterIsrResponse(error_code=ErrorCode.NOT_CONTROLLER))
    setup.clock.advance(RETRY_MS / 1000)
    assert setup.asked() == [{A: (1, 2)}] * 2


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_what_the_next_leader_and_isr_settles_is_not_asked_again(
    setup: Setup, code: ErrorCode
) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.answer((A, code))
    setup.clock.advance(1)
    assert len(setup.sent) == 1
    assert setup.altered == []


def test_other_errors_of_a_partition_are_asked_again_after_a_pause(setup: Setup) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.answer((A, ErrorCode.UNKNOWN_SERVER_ERROR))
    assert len(setup.sent) == 1
    setup.clock.advance(RETRY_MS / 1000)
    assert setup.asked() == [{A: (1, 2)}] * 2


def test_cleared_partition_is_not_asked_for(setup: Setup) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.manager.submit(B, wanted(1, 3))
    setup.manager.clear(B)
    setup.answer((A, wanted(1, 2)))
    assert len(setup.sent) == 1


def test_after_shutdown_nothing_is_sent(setup: Setup) -> None:
    setup.manager.submit(A, wanted(1, 2))
    setup.manager.shutdown()
    setup.manager.submit(B, wanted(1, 3))
    setup.clock.advance(1)
    assert len(setup.sent) == 1
