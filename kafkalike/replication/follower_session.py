"""The follower's end of a fetch session: it tells the leader only what changed (KIP-227).

Kafka's `FetchSessionHandler`. Decisions only.
"""

from collections import defaultdict
from collections.abc import Mapping

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafkalike.replication.fetch_session import (
    INITIAL_EPOCH,
    INVALID_SESSION_ID,
    next_epoch,
)


class FollowerSession:
    """What one leader was told; a session that breaks begins anew with everything."""

    def __init__(self) -> None:
        self._session_id = INVALID_SESSION_ID
        self._epoch = INITIAL_EPOCH
        self._told: dict[TopicPartition, FetchPartition] = {}

    def fill(self, request: FetchRequest, wanted: Mapping[TopicPartition, FetchPartition]) -> None:
        """Put into a request what the leader does not know yet of the wanted partitions."""
        request.session_id = self._session_id
        request.session_epoch = self._epoch
        if self._epoch == INITIAL_EPOCH:
            news = wanted
        else:
            told = self._told
            news = {tp: asked for tp, asked in wanted.items() if told.get(tp) != asked}
            gone = [tp for tp in told if tp not in wanted]
            request.forgotten_topics_data = _forgotten(gone)
        request.topics = _topics(news)
        self._told = dict(wanted)

    def answered(self, response: FetchResponse) -> bool:
        """Take note of an answer; False if the session is over and nothing was answered."""
        if response.error_code != ErrorCode.NONE:
            self.reset()
            return False
        if self._epoch == INITIAL_EPOCH:
            self._session_id = response.session_id
        if self._session_id != INVALID_SESSION_ID:
            self._epoch = next_epoch(self._epoch)
        return True

    def reset(self) -> None:
        """Forget the session: after an error nobody knows what the leader has heard."""
        self._session_id = INVALID_SESSION_ID
        self._epoch = INITIAL_EPOCH
        self._told = {}


def _topics(partitions: Mapping[TopicPartition, FetchPartition]) -> list[FetchTopic]:
    by_topic: dict[str, list[FetchPartition]] = defaultdict(list)
    for tp, partition in partitions.items():
        by_topic[tp.topic].append(partition)
    return [FetchTopic(topic=topic, partitions=found) for topic, found in by_topic.items()]


def _forgotten(partitions: list[TopicPartition]) -> list[ForgottenTopic]:
    by_topic: dict[str, list[int]] = defaultdict(list)
    for tp in partitions:
        by_topic[tp.topic].append(tp.partition)
    return [ForgottenTopic(topic=topic, partitions=found) for topic, found in by_topic.items()]
