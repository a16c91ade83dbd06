"""Waiting as a concept (Kafka's DelayedOperation): completed once, by condition or deadline.

An operation is watched under keys. Who changes something under a key calls `check_and_complete`;
the operation then looks whether its condition holds. Only an operation that waits has a timer.
"""

from collections.abc import Callable, Hashable, Iterable

from kafkalike.utils.time import Time, Timer


class DelayedOperation:
    """Something that answers later: subclasses say when (`try_complete`) and with what."""

    __slots__ = ("_forget", "_timer", "is_completed")

    def __init__(self) -> None:
        self.is_completed = False
        self._timer: Timer | None = None
        self._forget: Callable[[], None] | None = None

    def try_complete(self) -> bool:
        """Look at the condition; if it holds, `force_complete()` and return its result."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Give the answer; called exactly once."""
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Called after `on_complete` if it was the deadline that ended the wait."""

    def force_complete(self) -> bool:
        """Complete now; False if that happened before."""
        if self.is_completed:
            return False
        self.is_completed = True
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        self._timer = None
        if self._forget is not None:
            self._forget()
            self._forget = None
        self.on_complete()
        return True

    def _expire(self) -> None:
        if self.force_complete():
            self.on_expiration()


class DelayedOperationPurgatory:
    """Operations that wait, by the keys whose change may complete them."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._watchers: dict[Hashable, dict[DelayedOperation, None]] = {}

    def __len__(self) -> int:
        """Count the watched operations (one watched under three keys counts thrice)."""
        return sum(len(watched) for watched in self._watchers.values())

    def try_complete_else_watch(
        self, operation: DelayedOperation, keys: Iterable[Hashable], timeout_ms: float
    ) -> bool:
        """Complete now if possible, else watch under the keys until the deadline."""
        if operation.is_completed or operation.try_complete():
            return True
        self.watch(operation, keys, timeout_ms)
        return False

    def watch(
        self, operation: DelayedOperation, keys: Iterable[Hashable], timeout_ms: float
    ) -> None:
        """Watch under the keys until the deadline; for those who have just looked themselves."""
        watched_under = tuple(keys)
        for key in watched_under:
            self._watchers.setdefault(key, {})[operation] = None
        # Whoever completes it, it is forgotten under all its keys: some may never be checked again.
        operation._forget = lambda: self._unwatch(operation, watched_under)
        operation._timer = self._time.call_later_ms(timeout_ms, operation._expire)

    def check_and_complete(self, key: Hashable) -> int:
        """Let all that wait under this key look again; return how many completed."""
        watched = self._watchers.get(key)
        if not watched:
            return 0
        completed = 0
        for operation in list(watched):
            if not operation.is_completed and operation.try_complete():
                completed += 1
        return completed

    def cancel_for_key(self, key: Hashable) -> list[DelayedOperation]:
        """Stop watching under this key and return what was watched."""
        return list(self._watchers.pop(key, {}))

    def shutdown(self) -> None:
        """Complete everything, as if each deadline had struck."""
        for key in list(self._watchers):
            for operation in self.cancel_for_key(key):
                operation.force_complete()

    def _unwatch(self, operation: DelayedOperation, keys: tuple[Hashable, ...]) -> None:
        for key in keys:
            watched = self._watchers.get(key)
            if watched is not None:
                watched.pop(operation, None)
                if not watched:
                    del self._watchers[key]


def watch(
    purgatory: DelayedOperationPurgatory,
    condition: Callable[[], bool],
    keys: Iterable[Hashable],
    timeout_ms: float,
    then: Callable[[], None],
) -> None:
    """Call `then` once the condition holds or the deadline strikes."""
    purgatory.try_complete_else_watch(_Condition(condition, then), keys, timeout_ms)


class _Condition(DelayedOperation):
    __slots__ = ("_condition", "_then")

    def __init__(self, condition: Callable[[], bool], then: Callable[[], None]) -> None:
        super().__init__()
        self._condition = condition
        self._then = then

    def try_complete(self) -> bool:
        return self._condition() and self.force_complete()

    def on_complete(self) -> None:
        self._then()
