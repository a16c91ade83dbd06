"""A fetch of which other brokers have a part: all are asked at once, and one answer is made.

The client's session, its limits and its patience are this broker's affair; the others see plain
fetches. Whoever has records first ends the wait, for all: what the others have later is kept for
the client's next fetch (`fetch_ahead`).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from twisted.internet.defer import Deferred

from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
)
from kafkalike.replication.fetch_params import CONSUMER_REPLICA_ID, FetchParams, PartitionRead
from kafkalike.security.acl_operation import AclOperation
from kafkalike.server.api.context import RequestContext
from kafkalike.server.forwarding.fetch_ahead import (
    FetchAhead,
    Terms,
    is_urgent,
    question,
    refusal,
    without_records,
)
from kafkalike.utils.time import Time

GRACE_MS: Final = 200
"""How much longer than the client's wait another broker may take; after that it has nothing."""

Answer = FetchablePartitionResponse
Answers = dict[TopicPartition, Answer]


def leaders_elsewhere(
    context: RequestContext, request: FetchRequest, reads: Sequence[PartitionRead]
) -> dict[TopicPartition, int]:
    """Return the brokers to ask about the partitions that could not be read here.

    A follower's own fetch, and one for debugging, are meant for this broker and no other.
    """
    refused = [read.tp for read in reads if read.result is None]
    if not refused or request.replica_id != CONSUMER_REPLICA_ID:
        return {}
    forwarding = context.broker.forwarding
    found = {tp: forwarding.leader_elsewhere(context, tp, AclOperation.READ) for tp in refused}
    return {tp: leader for tp, leader in found.items() if leader is not None}


class _Source:
    """One broker's part of the fetch."""

    def __init__(self, ahead: FetchAhead) -> None:
        self.ahead = ahead
        self.wanted: dict[TopicPartition, FetchPartition] = {}
        self.was_asked = False

    def is_known(self, found: Answers) -> bool:
        """Whether there is something to say about each partition, be it that nothing is new."""
        return all(tp in found or self.ahead.nothing_new(tp) is not None for tp in self.wanted)

    def size(self, found: Answers) -> int:
        """Count the bytes that came from this broker."""
        return sum(map(_size, (found[tp] for tp in self.wanted if tp in found)))

    def answers(self, terms: Terms) -> Answers:
        """Return the answers that brought something."""
        found = {
            tp: self.ahead.answer(tp, question(terms, wanted)) for tp, wanted in self.wanted.items()
        }
        return {tp: answer for tp, answer in found.items() if answer is not None}


class _Found(NamedTuple):
    """What is there at a moment: all of this broker, and of the others what brings something."""

    reads: Sequence[PartitionRead]
    remote: Answers

    @property
    def size(self) -> int:
        return sum(read.size for read in self.reads) + self.remote_size

    @property
    def remote_size(self) -> int:
        return sum(map(_size, self.remote.values()))

    @property
    def is_urgent(self) -> bool:
        return not self.is_readable or any(map(is_urgent, self.remote.values()))

    @property
    def is_readable(self) -> bool:
        """Whether all of this broker's part can be read, so that waiting for more has a sense."""
        return all(
            read.result is not None and read.result.diverging_epoch is None for read in self.reads
        )


class ForwardedFetch:
    """One fetch of a client, from the first look to its answer."""

    def __init__(
        self,
        context: RequestContext,
        request: FetchRequest,
        params: FetchParams,
        requested: Sequence[tuple[TopicPartition, FetchPartition]],
        leaders: dict[TopicPartition, int],
    ) -> None:
        self._replicas = context.broker.replica_manager
        self._time = context.broker.time
        self._requested = requested
        self._local = [(tp, wanted) for tp, wanted in requested if tp not in leaders]
        self._max_bytes = params.max_bytes
        self._sources: dict[int, _Source] = {}
        for tp, wanted in requested:
            if tp in leaders:
                self._source(context, leaders[tp]).wanted[tp] = wanted
        parts = len(self._sources) + bool(self._local)
        self._params = params._replace(max_bytes=max(1, params.max_bytes // parts))
        self._terms = _terms(context, request, self._params)
        self._deadline_ms = self._time.now_ms() + params.max_wait_ms
        self._news = _News(self._time)
        self._is_local_ready = False
        self.throttle_time_ms = 0

    def _source(self, context: RequestContext, broker_id: int) -> _Source:
        if broker_id not in self._sources:
            ahead = context.broker.forwarding.fetch_ahead(context, broker_id)
            self._sources[broker_id] = _Source(ahead)
        return self._sources[broker_id]

    async def run(
        self, answer: Callable[[PartitionRead], Answer]
    ) -> list[tuple[TopicPartition, Answer]]:
        """Return the answers in the order of the request; `answer` shapes what was read here."""
        for source in self._sources.values():
            source.ahead.tell = self._news.tell
        try:
            while True:
                found = self._look()
                self._ask(found)
                if self._is_done(found):
                    return self._merge(found, answer)
                await self._wait(found)
        finally:
            self.throttle_time_ms = max(
                source.ahead.throttle_time_ms for source in self._sources.values()
            )
            for source in self._sources.values():
                source.ahead.settle()

    def _look(self) -> _Found:
        remote: Answers = {}
        for source in self._sources.values():
            remote.update(source.answers(self._terms))
        return _Found(self._replicas.read_messages(self._params, self._local), remote)

    def _ask(self, found: _Found) -> None:
        """Keep a fetch in flight to each broker: the first at any rate, others until the end."""
        left_ms = max(0, self._deadline_ms - self._time.now_ms())
        for source in self._sources.values():
            if source.ahead.is_in_flight:
                source.was_asked |= source.ahead.is_asking(self._terms, source.wanted)
            elif not source.was_asked or left_ms:
                source.was_asked = True
                if not all(tp in found.remote for tp in source.wanted):
                    source.ahead.ask(self._terms_for(source, found, left_ms), source.wanted)

    def _terms_for(self, source: _Source, found: _Found, left_ms: int) -> Terms:
        from_others = found.size - source.size(found.remote)
        return self._terms._replace(
            # What was never heard of is answered at once: the client is to know where it ends.
            max_wait_ms=left_ms if source.is_known(found.remote) else 0,
            min_bytes=max(1, self._params.min_bytes - from_others),
        )

    def _is_done(self, found: _Found) -> bool:
        now_ms = self._time.now_ms()
        sources = self._sources.values()
        if now_ms >= self._deadline_ms + GRACE_MS:
            return True
        if not all(source.is_known(found.remote) for source in sources):
            return False
        if found.is_urgent or self._is_local_ready or found.size >= self._params.min_bytes:
            return True
        return now_ms >= self._deadline_ms and not any(
            source.ahead.is_in_flight or not source.was_asked for source in sources
        )

    async def _wait(self, found: _Found) -> None:
        """Wait for news from anywhere."""
        left_ms = self._deadline_ms - self._time.now_ms()
        operation = None
        if self._local and found.is_readable and left_ms > 0 and not self._is_local_ready:
            min_bytes = max(1, self._params.min_bytes - found.remote_size)
            params = self._params._replace(max_wait_ms=left_ms, min_bytes=min_bytes)
            operation = self._replicas.when_readable(params, found.reads, self._news.tell)
        await self._news.wait(left_ms + GRACE_MS)
        if operation is not None:
            # Not by its deadline: then the other brokers are about to answer, too.
            is_early = self._time.now_ms() < self._deadline_ms
            self._is_local_ready = operation.is_completed and is_early
            operation.force_complete()
        self._news.seen()

    def _merge(
        self, found: _Found, answer: Callable[[PartitionRead], Answer]
    ) -> list[tuple[TopicPartition, Answer]]:
        """Put all together in the client's order, and no more of it than the client takes."""
        local = {read.tp: answer(read) for read in found.reads}
        ahead = {tp: source.ahead for source in self._sources.values() for tp in source.wanted}
        merged: list[tuple[TopicPartition, Answer]] = []
        size = 0
        for tp, _ in self._requested:
            one = local.get(tp) or found.remote.get(tp) or ahead[tp].nothing_new(tp)
            if one is None:
                one = refusal(tp, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            if size and _size(one) and size + _size(one) > self._max_bytes:
                one = without_records(one)
            elif tp in ahead:
                ahead[tp].take(tp)
            size += _size(one)
            merged.append((tp, one))
        return merged


def _size(answer: Answer) -> int:
    return len(answer.record_set or b"")


def _terms(context: RequestContext, request: FetchRequest, params: FetchParams) -> Terms:
    config = context.broker.config
    return Terms(
        version=context.api_version,
        isolation_level=request.isolation_level,
        # A gateway's client cannot be sent to another replica.
        rack_id="" if context.is_gateway else request.rack_id,
        max_wait_ms=params.max_wait_ms,
        min_bytes=params.min_bytes,
        max_bytes=params.max_bytes,
        setup_ms=config.socket_connection_setup_timeout_ms,
        patience_ms=config.request_timeout_ms,
    )


class _News:
    """Something to wait for that several can bring."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._waiting: Deferred[None] | None = None
        self._has_come = False

    def tell(self) -> None:
        """End the wait, or spare the next one."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            self._has_come = True
        else:
            waiting.callback(None)

    async def wait(self, limit_ms: int) -> None:
        """Wait until somebody tells something that was not waited for yet, or for so long."""
        if not self._has_come:
            waiting: Deferred[None] = Deferred()
            self._waiting = waiting
            timer = self._time.call_later_ms(limit_ms, self.tell)
            await waiting
            if timer.active():
                timer.cancel()

    def seen(self) -> None:
        """Forget what has come until now: whoever waited looks at everything again."""
        self._has_come = False
