"""Fetch sessions (KIP-227): a fetcher names its partitions once, then only what changed.

The broker remembers the partitions of a session and answers only those with news. Decisions only:
the clock is an argument.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import (
    FetchSessionIdNotFoundError,
    InvalidFetchSessionEpochError,
)
from kafkalike.protocol.messages.fetch import FetchablePartitionResponse, FetchPartition

INVALID_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MAX_INT = 2**31 - 1
_MIN_EVICTION_MS = 120_000

Requested = Mapping[TopicPartition, FetchPartition]
Answers = Sequence[tuple[TopicPartition, FetchablePartitionResponse]]


class CachedPartition:
    """A partition of a session: what is asked for, and what was answered last."""

    __slots__ = ("high_watermark", "log_start_offset", "request")

    def __init__(self, request: FetchPartition) -> None:
        self.request = request
        self.high_watermark = -1
        self.log_start_offset = -1

    def take_answer(self, answer: FetchablePartitionResponse) -> bool:
        """Remember an answer; True if it has news and must be sent."""
        must_send = (
            bool(answer.record_set)
            or answer.high_watermark != self.high_watermark
            or answer.log_start_offset != self.log_start_offset
            or answer.preferred_read_replica >= 0
            or answer.error_code != 0
            or answer.diverging_epoch.epoch >= 0
        )
        # After an error the next answer counts as news whatever it is.
        self.high_watermark = -1 if answer.error_code else answer.high_watermark
        self.log_start_offset = answer.log_start_offset
        return must_send


class FetchSession:
    """The partitions of one fetcher; those answered longest ago come first."""

    def __init__(
        self, session_id: int, partitions: Requested, now_ms: int, *, is_privileged: bool
    ) -> None:
        self.id = session_id
        self.is_privileged = is_privileged  # followers may push consumers out of the cache
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.created_ms = self.last_used_ms = now_ms
        self.partitions = {tp: CachedPartition(request) for tp, request in partitions.items()}

    @property
    def worth(self) -> tuple[bool, int, int]:
        """What decides who is pushed out of a full cache: the least worth goes first."""
        return self.is_privileged, len(self.partitions), self.id

    def update(self, changed: Requested, forgotten: Iterable[TopicPartition]) -> None:
        """Take over what a request adds, changes and removes."""
        for tp, request in changed.items():
            cached = self.partitions.get(tp)
            if cached is None:
                self.partitions[tp] = CachedPartition(request)
            else:
                cached.request = request
        for tp in forgotten:
            self.partitions.pop(tp, None)

    def select(self, answers: Answers) -> Answers:
        """Return the answers that have news; their partitions go to the end of the line."""
        selected = []
        for tp, answer in answers:
            cached = self.partitions.get(tp)
            if cached is None:
                continue
            if cached.take_answer(answer):
                selected.append((tp, answer))
                del self.partitions[tp]
                self.partitions[tp] = cached
        return selected


class FetchContext:
    """A fetch outside of any session: all that it asks for is answered."""

    session_id = INVALID_SESSION_ID

    def __init__(self, partitions: Requested) -> None:
        self._partitions = partitions

    def partitions(self) -> Iterable[tuple[TopicPartition, FetchPartition]]:
        """Yield the partitions to read, in order."""
        return self._partitions.items()

    def select(self, answers: Answers) -> Answers:
        """Return the answers to send."""
        return answers


class FullFetchContext(FetchContext):
    """A fetch that names all partitions and wants a session from now on."""

    def __init__(
        self, cache: "FetchSessionCache", partitions: Requested, *, is_follower: bool, now_ms: int
    ) -> None:
        super().__init__(partitions)
        self._cache = cache
        self._is_follower = is_follower
        self._now_ms = now_ms

    def select(self, answers: Answers) -> Answers:
        """Return all answers, and remember them in a new session if there is room for one."""
        session = self._cache.maybe_create(
            self._partitions, self._now_ms, is_privileged=self._is_follower
        )
        if session is not None:
            self.session_id = session.id
            session.select(answers)
        return answers


class IncrementalFetchContext(FetchContext):
    """A fetch within a session."""

    def __init__(self, session: FetchSession) -> None:
        self._session = session
        self._expected_epoch = session.epoch
        self.session_id = session.id

    def partitions(self) -> Iterable[tuple[TopicPartition, FetchPartition]]:
        """Yield all partitions of the session."""
        return [(tp, cached.request) for tp, cached in self._session.partitions.items()]

    def select(self, answers: Answers) -> Answers:
        """Return the answers with news, unless another request came in between."""
        if self._session.epoch != self._expected_epoch:
            raise InvalidFetchSessionEpochError(
                f"fetch session {self._session.id} moved on to epoch {self._session.epoch}"
            )
        return self._session.select(answers)


class FetchSessionCache:
    """All sessions of a broker, a bounded number (`max.incremental.fetch.session.cache.slots`)."""

    def __init__(self, max_entries: int, random: Random) -> None:
        self._max_entries = max_entries
        self._random = random
        self._sessions: dict[int, FetchSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def new_context(
        self,
        session_id: int,
        epoch: int,
        partitions: Requested,
        forgotten: Iterable[TopicPartition],
        now_ms: int,
        *,
        is_follower: bool,
    ) -> FetchContext:
        """Return what a request means; raises where it speaks of a session that is not so."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            self._sessions.pop(session_id, None)  # naming a session in a full fetch closes it
            if epoch == FINAL_EPOCH:
                return FetchContext(partitions)
            return FullFetchContext(self, partitions, is_follower=is_follower, now_ms=now_ms)
        session = self._sessions.get(session_id)
        if session is None:
            raise FetchSessionIdNotFoundError(f"no fetch session {session_id}")
        if session.epoch != epoch:
            raise InvalidFetchSessionEpochError(
                f"fetch session {session_id} is at epoch {session.epoch}, not {epoch}"
            )
        session.update(partitions, forgotten)
        if not session.partitions:
            del self._sessions[session_id]
            return FetchContext(partitions)
        session.last_used_ms = now_ms
        session.epoch = next_epoch(session.epoch)
        return IncrementalFetchContext(session)

    def maybe_create(
        self, partitions: Requested, now_ms: int, *, is_privileged: bool
    ) -> FetchSession | None:
        """Create a session if there is room, or if an old or lesser one makes room."""
        if len(self._sessions) >= self._max_entries and not self._try_evict(
            len(partitions), now_ms, is_privileged=is_privileged
        ):
            return None
        session = FetchSession(
            self._new_session_id(), partitions, now_ms, is_privileged=is_privileged
        )
        self._sessions[session.id] = session
        return session

    def _try_evict(self, size: int, now_ms: int, *, is_privileged: bool) -> bool:
        if not self._sessions:
            return False
        stalest = min(self._sessions.values(), key=lambda session: session.last_used_ms)
        if now_ms - stalest.last_used_ms > _MIN_EVICTION_MS:
            del self._sessions[stalest.id]
            return True
        evictable = [
            session
            for session in self._sessions.values()
            if now_ms - session.created_ms > _MIN_EVICTION_MS
            or (is_privileged and not session.is_privileged)
        ]
        least = min(evictable, key=lambda session: session.worth, default=None)
        if least is None or (is_privileged, size, 0) < least.worth:
            return False
        del self._sessions[least.id]
        return True

    def _new_session_id(self) -> int:
        while True:
            session_id = self._random.randrange(1, _MAX_INT)
            if session_id not in self._sessions:
                return session_id


def next_epoch(epoch: int) -> int:
    """Return the epoch after this one; after the last comes 1, for 0 begins a session."""
    return 1 if epoch == _MAX_INT else epoch + 1
