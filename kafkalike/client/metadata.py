"""Keeps the snapshot of the cluster fresh: by age, on demand, after errors (Kafka's `Metadata`)."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from twisted.logger import Logger

from kafkalike.client.cluster_snapshot import ClusterSnapshot, TopicMetadata, updated
from kafkalike.client.config import ClientConfig
from kafkalike.client.deadline import within
from kafkalike.client.single_flight import SingleFlight
from kafkalike.network.tls_failure import AUTHENTICATION_ERRORS
from kafkalike.protocol.errors import (
    ErrorCode,
    KafkaError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
    error_for,
)
from kafkalike.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkalike.protocol.schema import Message
from kafkalike.utils.background import Background
from kafkalike.utils.time import Time, Timer

log = Logger()

_NOT_YET = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_CONTROLLER,
    ErrorCode.INVALID_REPLICATION_FACTOR,  # brokers that the new topic needs may still be to come
}


class Metadata:
    """The snapshot, the topics that it is to hold, and its refreshing.

    `snapshot` may be read from any thread. `on_update` is called after each change of it.
    """

    def __init__(
        self,
        time: Time,
        config: ClientConfig,
        background: Background,
        ask_any: Callable[[Message], Awaitable[Any]],
    ) -> None:
        self.snapshot = ClusterSnapshot()
        self.on_update: list[Callable[[], None]] = []
        self._time = time
        self._config = config
        self._ask_any = ask_any
        self._background = background
        self._flight: SingleFlight[ClusterSnapshot] = SingleFlight("metadata", background)
        self._topics: set[str] = set()
        self._wants_all = False
        self._last_attempt_ms = 0
        self._asked_again: Timer | None = None
        self._by_age: Timer | None = None
        self._is_closed = False

    @property
    def topics(self) -> frozenset[str]:
        """The topics that are kept fresh."""
        return frozenset(self._topics)

    def add_topics(self, topics: Iterable[str]) -> bool:
        """Keep these topics fresh too; True if one of them is new."""
        before = len(self._topics)
        self._topics.update(topics)
        return len(self._topics) > before

    def set_topics(self, topics: Iterable[str]) -> None:
        """Keep just these topics fresh."""
        self._topics = set(topics)
        self._wants_all = False

    def want_all_topics(self) -> None:
        """Keep all topics of the cluster fresh: for subscriptions by pattern."""
        self._wants_all = True

    async def refresh(self) -> ClusterSnapshot:
        """Ask a broker now; raises if none can be reached."""
        return await self._flight.run(self._refresh)

    def request_refresh(self) -> None:
        """Ask soon, for something turned out to be stale; at most once per `retry_backoff_ms`."""
        if self._is_closed:
            return
        if self._asked_again is not None and self._asked_again.active():
            return
        due_ms = self._last_attempt_ms + self._config.retry_backoff_ms - self._time.now_ms()
        self._asked_again = self._time.call_later_ms(max(0, due_ms), self._refresh_in_background)

    async def topic(self, name: str, timeout_ms: int) -> TopicMetadata:
        """Return a topic once it is known; it is created if broker and settings allow that."""
        deadline_ms = self._time.now_ms() + timeout_ms
        self.add_topics([name])
        last: KafkaError = UnknownTopicOrPartitionError(f"topic {name} is not known")
        while True:
            found = self.snapshot.topics.get(name)
            if found is not None and found.error_code == ErrorCode.NONE and found.partitions:
                return found
            if found is not None and found.error_code not in _NOT_YET and found.error_code:
                self._topics.discard(name)
                raise error_for(found.error_code)(f"topic {name}: {error_for(found.error_code)()}")
            if self._time.now_ms() >= deadline_ms:
                raise RequestTimedOutError(
                    f"topic {name} not present in metadata after {timeout_ms} ms: {last}"
                )
            last = await self._try_again(found is None, deadline_ms) or last

    def close(self) -> None:
        """Refresh no more."""
        self._is_closed = True
        for timer in (self._asked_again, self._by_age):
            if timer is not None and timer.active():
                timer.cancel()

    async def _try_again(self, is_first: bool, deadline_ms: int) -> KafkaError | None:
        problem = None
        now_ms = self._time.now_ms()
        pause_ms = 0 if is_first else self._config.retry_backoff_ms
        if now_ms - self._last_attempt_ms < self._config.retry_backoff_ms and not is_first:
            await self._time.sleep_ms(min(pause_ms, deadline_ms - now_ms))
        try:
            left_ms = max(0, deadline_ms - self._time.now_ms())
            await within(self._time, left_ms, self.refresh(), "metadata")
        except AUTHENTICATION_ERRORS:
            raise  # trying again would not help
        except KafkaError as error:
            problem = error
            await self._time.sleep_ms(
                min(self._config.retry_backoff_ms, max(0, deadline_ms - self._time.now_ms()))
            )
        return problem

    def _refresh_in_background(self) -> None:
        if not self._is_closed:
            self._background.start(self._refresh_or_try_later(), "metadata refresh")

    async def _refresh_or_try_later(self) -> None:
        try:
            await self.refresh()
        except KafkaError:
            self.request_refresh()

    async def _refresh(self) -> ClusterSnapshot:
        while True:
            self._last_attempt_ms = self._time.now_ms()
            asked = None if self._wants_all else frozenset(self._topics)
            answer: MetadataResponse = await self._ask_any(self._request(asked))
            _warn_of_errors(answer)
            self.snapshot = updated(self.snapshot, answer)
            self._schedule_by_age()
            for told in list(self.on_update):
                told()
            if asked is None or self._wants_all or self._topics <= asked:
                break
        if any(self._is_unsettled(name) for name in self._topics):
            self.request_refresh_later()
        return self.snapshot

    def request_refresh_later(self) -> None:
        """Ask again after the back-off although a refresh has just ended."""
        if not self._is_closed and (self._asked_again is None or not self._asked_again.active()):
            self._asked_again = self._time.call_later_ms(
                self._config.retry_backoff_ms, self._refresh_in_background
            )

    def _is_unsettled(self, name: str) -> bool:
        topic = self.snapshot.topics.get(name)
        return topic is not None and any(p.leader < 0 for p in topic.partitions.values())

    def _request(self, topics: frozenset[str] | None) -> MetadataRequest:
        named = None
        if topics is not None:
            named = [MetadataRequestTopic(name=name) for name in sorted(topics)]
        return MetadataRequest(
            topics=named, allow_auto_topic_creation=self._config.allow_auto_create_topics
        )

    def _schedule_by_age(self) -> None:
        if self._by_age is not None and self._by_age.active():
            self._by_age.cancel()
        if not self._is_closed:
            self._by_age = self._time.call_later_ms(
                self._config.metadata_max_age_ms, self._refresh_in_background
            )


def _warn_of_errors(answer: MetadataResponse) -> None:
    errors = [
        f"{topic.name}={ErrorCode(topic.error_code).name}"
        for topic in answer.topics
        if topic.error_code != ErrorCode.NONE
    ]
    if errors:
        log.warn("Error while fetching metadata : {errors}", errors=f"{{{', '.join(errors)}}}")
