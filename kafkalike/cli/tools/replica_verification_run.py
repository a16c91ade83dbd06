"""The work of `kafka-replica-verification`: fetch from every replica, compare, go on."""

import time
from collections.abc import Mapping
from typing import Any, Final

from kafkalike.cli.tools.replica_comparison import Comparison, ReplicaData, compare
from kafkalike.cli.tools.support.client import client_settings, with_admin
from kafkalike.cli.tools.support.errors import ToolFailure
from kafkalike.cli.tools.support.log4j import log_time
from kafkalike.cli.tools.support.options import Parsed
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.cli.tools.support.topic_filter import TopicFilter
from kafkalike.cli.tools.support.wall_clock import now_ms
from kafkalike.client.admin.admin_client import Admin
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalike.utils.gather import gather

_ANY_REPLICA: Final = -2
"""The replica id of a debugging consumer: followers answer it as well."""
_EARLIEST: Final = -2
_LATEST: Final = -1

Partitions = Mapping[TopicPartition, list[int]]


def verify(parsed: Parsed) -> int:
    """Compare until somebody ends it; with `--once`, until the end of what was there."""
    settings = client_settings(parsed, bootstrap="broker-list")
    return with_admin(settings, lambda admin: _Verification(admin, parsed).run())


class _Verification:
    """The partitions, and up to where their replicas agree."""

    def __init__(self, admin: Admin, parsed: Parsed) -> None:
        self._admin = admin
        self._filter = TopicFilter(parsed.value("topic-white-list"))
        self._fetch_size: int = parsed.value("fetch-size")
        self._max_wait_ms: int = parsed.value("max-wait-ms")
        self._time: int = parsed.value("time")
        self._report_ms: int = parsed.value("report-interval-ms")
        self._is_once = parsed.has("once")
        self._partitions: Partitions = {}
        self._offsets: dict[TopicPartition, int] = {}
        self._last_report = time.monotonic()
        self._has_differences = False

    async def run(self) -> int:
        self._partitions = await self._replicas()
        if not self._partitions:
            raise ToolFailure(
                "No topics found. [topic-white-list] if specified, is either filtering out all"
                " topics or there is no topic."
            )
        ends = await self._log_offsets(_LATEST)
        self._offsets = ends if self._time == _LATEST else await self._start(ends)
        _say("verification process is started.")
        while not (self._is_once and self._is_done(ends)):
            found = await self._round()
            for comparison in found.values():
                for words in comparison.differences:
                    _say(words)
                self._has_differences |= bool(comparison.differences)
                if comparison.is_fatal:
                    return 1
            self._maybe_report(found)
        return 1 if self._has_differences else 0

    async def _replicas(self) -> Partitions:
        topics = [
            topic for topic in await self._admin.describe_topics() if self._matches(topic["name"])
        ]
        return {
            TopicPartition(topic["name"], part["partition_index"]): part["replica_nodes"]
            for topic in topics
            for part in topic["partitions"]
        }

    def _matches(self, topic: str) -> bool:
        return self._filter.matches(topic)

    async def _log_offsets(self, at: int) -> dict[TopicPartition, int]:
        found: dict[Any, Any] = await self._admin.list_partition_offsets(
            dict.fromkeys(self._partitions, at)
        )
        return {tp: found[tp].offset for tp in self._partitions}

    async def _start(self, ends: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = await self._log_offsets(self._time)
        return {tp: offset if offset >= 0 else ends[tp] for tp, offset in found.items()}

    def _is_done(self, ends: Mapping[TopicPartition, int]) -> bool:
        return all(self._offsets[tp] >= end for tp, end in ends.items())

    async def _round(self) -> dict[TopicPartition, Comparison]:
        brokers = sorted({broker for replicas in self._partitions.values() for broker in replicas})
        answers = dict(
            zip(brokers, await gather(self._fetch(broker) for broker in brokers), strict=True)
        )
        found = {}
        for tp, replicas in self._partitions.items():
            data = {broker: answers[broker].get(tp, ReplicaData()) for broker in replicas}
            found[tp] = compare(tp, self._offsets[tp], data)
            self._offsets[tp] = found[tp].next_offset
        return found

    async def _fetch(self, broker: int) -> dict[TopicPartition, ReplicaData]:
        """Fetch the replicas of a broker; nothing if it is away: its partitions wait for it."""
        wanted: dict[str, list[FetchPartition]] = {}
        for tp, replicas in self._partitions.items():
            if broker in replicas:
                wanted.setdefault(tp.topic, []).append(
                    FetchPartition(
                        partition=tp.partition,
                        fetch_offset=self._offsets[tp],
                        partition_max_bytes=self._fetch_size,
                    )
                )
        request = FetchRequest(
            replica_id=_ANY_REPLICA,
            max_wait_ms=self._max_wait_ms,
            min_bytes=1,
            topics=[FetchTopic(topic=name, partitions=parts) for name, parts in wanted.items()],
        )
        try:
            answer = await self._admin.client.send(broker, request)
        except KafkaError:
            await self._admin.client.metadata.refresh()
            return {}
        return {
            TopicPartition(topic.topic, part.partition): ReplicaData(
                part.high_watermark, part.record_set or b""
            )
            for topic in answer.responses
            for part in topic.partition_responses
            if part.error_code == ErrorCode.NONE
        }

    def _maybe_report(self, found: Mapping[TopicPartition, Comparison]) -> None:
        if (time.monotonic() - self._last_report) * 1000 <= self._report_ms:
            return
        self._last_report = time.monotonic()
        worst, comparison = max(found.items(), key=lambda one: one[1].lag)
        _say(
            f"max lag is {comparison.lag} for partition {worst} at offset "
            f"{comparison.next_offset} among {len(found)} partitions"
        )


def _say(text: str) -> None:
    print_line(f"{log_time(now_ms())}: {text}")
