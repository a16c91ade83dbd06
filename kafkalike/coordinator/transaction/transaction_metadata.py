"""What is known of a transactional id, and how it changes (Kafka's TransactionMetadata).

A change is prepared (it becomes the pending state, which holds off all others), then written to the
log, then completed. Decisions only: which change a request calls for is in `transitions`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from kafkalike.coordinator.transaction.transaction_state import TransactionState
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.protocol.errors import ProducerFencedError
from kafkalike.protocol.records.record import NO_TIMESTAMP
from kafkalike.protocol.records.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

LARGEST_EPOCH: Final = (1 << 15) - 1
"""Never given to a producer, so that there is always an epoch left to lock the last one out."""

EMPTY = TransactionState.EMPTY
ONGOING = TransactionState.ONGOING
PREPARE_COMMIT = TransactionState.PREPARE_COMMIT
PREPARE_ABORT = TransactionState.PREPARE_ABORT
COMPLETE_COMMIT = TransactionState.COMPLETE_COMMIT
COMPLETE_ABORT = TransactionState.COMPLETE_ABORT
DEAD = TransactionState.DEAD
PREPARE_EPOCH_FENCE = TransactionState.PREPARE_EPOCH_FENCE


class IllegalTransitionError(Exception):
    """A transaction was to change in a way that cannot follow from what it is: a bug of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnTransitMetadata:
    """What a transactional id is to become; also what of it is written to the log."""

    producer_id: int
    producer_epoch: int
    last_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    txn_timeout_ms: int
    txn_state: TransactionState
    topic_partitions: frozenset[TopicPartition] = frozenset()
    txn_start_timestamp: int = NO_TIMESTAMP
    txn_last_update_timestamp: int


class TransactionMetadata:
    """One transactional id; owned by the transaction store."""

    __slots__ = ("current", "has_failed_epoch_fence", "pending_state", "transactional_id")

    def __init__(self, transactional_id: str, current: TxnTransitMetadata) -> None:
        self.transactional_id = transactional_id
        self.current = current
        self.pending_state: TransactionState | None = None
        """The state that is being written; while there is one, nothing else may change."""
        self.has_failed_epoch_fence = False
        """Whether an epoch was raised here that did not get into the log: it is not raised again,
        for no producer has ever seen it."""

    def __repr__(self) -> str:
        return (
            f"TransactionMetadata({self.transactional_id!r}, {self.current}, "
            f"pending={self.pending_state})"
        )

    @property
    def state(self) -> TransactionState:
        """The state that the log has acknowledged."""
        return self.current.txn_state

    @property
    def producer_id(self) -> int:
        """The id of the producer now."""
        return self.current.producer_id

    @property
    def producer_epoch(self) -> int:
        """The epoch of the producer now; -1 for one that was just made."""
        return self.current.producer_epoch

    @property
    def topic_partitions(self) -> frozenset[TopicPartition]:
        """The partitions of the open or ending transaction."""
        return self.current.topic_partitions

    @property
    def is_transition_pending(self) -> bool:
        """Whether a change is on its way to the log."""
        return self.pending_state is not None

    @property
    def is_producer_epoch_exhausted(self) -> bool:
        """Whether a producer that starts anew needs another id."""
        return is_epoch_exhausted(self.producer_epoch)

    def is_timed_out(self, now_ms: int) -> bool:
        """Whether the transaction is open for longer than its producer wanted."""
        current = self.current
        return (
            self.pending_state is None
            and current.txn_state is ONGOING
            and current.txn_start_timestamp + current.txn_timeout_ms < now_ms
        )

    def is_expired(self, now_ms: int, expiration_ms: int) -> bool:
        """Whether nobody has used this id for so long that it may be forgotten."""
        return (
            self.pending_state is None
            and self.state.is_expiration_allowed
            and self.current.txn_last_update_timestamp <= now_ms - expiration_ms
        )

    # --- preparing

    def prepare_fence_producer_epoch(self) -> TxnTransitMetadata:
        """Raise the epoch, so that the producer of the open transaction is locked out."""
        bump = 0 if self.has_failed_epoch_fence else 1
        if self.producer_epoch + bump > LARGEST_EPOCH:
            raise IllegalTransitionError(f"{self} has the largest epoch and cannot be fenced")
        return self._prepare(
            PREPARE_EPOCH_FENCE,
            producer_epoch=self.producer_epoch + bump,
            last_producer_epoch=NO_PRODUCER_EPOCH,
        )

    def fence(self, producer_epoch: int) -> None:
        """Take on the epoch of `prepare_fence_producer_epoch`: the abort is written with it."""
        assert self.pending_state is PREPARE_EPOCH_FENCE, "nothing else raises an epoch so"
        self.pending_state = None
        self.current = replace(
            self.current, producer_epoch=producer_epoch, last_producer_epoch=NO_PRODUCER_EPOCH
        )

    def prepare_increment_producer_epoch(
        self, txn_timeout_ms: int, expected_epoch: int | None, now_ms: int
    ) -> TxnTransitMetadata:
        """Give the next epoch to a producer that starts, or goes on after an error (KIP-360)."""
        epoch, last_epoch = self._next_epochs(expected_epoch)
        if epoch == LARGEST_EPOCH:
            raise IllegalTransitionError(f"{self} has no epochs left")
        return self._prepare(
            EMPTY,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            txn_timeout_ms=txn_timeout_ms,
            topic_partitions=frozenset(),
            txn_start_timestamp=NO_TIMESTAMP,
            txn_last_update_timestamp=now_ms,
        )

    def _next_epochs(self, expected_epoch: int | None) -> tuple[int, int]:
        epoch, last_epoch = self.producer_epoch, self.current.last_producer_epoch
        if expected_epoch is None:
            return epoch + 1, NO_PRODUCER_EPOCH
        if epoch == NO_PRODUCER_EPOCH or expected_epoch == epoch:
            return epoch + 1, epoch
        if expected_epoch == last_epoch:
            # The same request again, its answer was lost. Had another producer started meanwhile,
            # there would be no last epoch.
            return epoch, last_epoch
        raise ProducerFencedError(
            f"{self.transactional_id}: the expected epoch {expected_epoch} is neither the current "
            f"one {epoch} nor the last one {last_epoch}"
        )

    def prepare_producer_id_rotation(
        self, new_producer_id: int, txn_timeout_ms: int, now_ms: int, *, record_last_epoch: bool
    ) -> TxnTransitMetadata:
        """Give another producer id, for the epochs of this one are used up."""
        return self._prepare(
            EMPTY,
            producer_id=new_producer_id,
            producer_epoch=0,
            last_producer_epoch=self.producer_epoch if record_last_epoch else NO_PRODUCER_EPOCH,
            txn_timeout_ms=txn_timeout_ms,
            topic_partitions=frozenset(),
            txn_start_timestamp=NO_TIMESTAMP,
            txn_last_update_timestamp=now_ms,
        )

    def prepare_add_partitions(
        self, partitions: Iterable[TopicPartition], now_ms: int
    ) -> TxnTransitMetadata:
        """Open the transaction if it is not, and take in partitions."""
        is_open = self.state is ONGOING
        return self._prepare(
            ONGOING,
            topic_partitions=self.topic_partitions.union(partitions),
            txn_start_timestamp=self.current.txn_start_timestamp if is_open else now_ms,
            txn_last_update_timestamp=now_ms,
        )

    def prepare_abort_or_commit(self, *, is_commit: bool, now_ms: int) -> TxnTransitMetadata:
        """Decide the transaction."""
        state = PREPARE_COMMIT if is_commit else PREPARE_ABORT
        return self._prepare(state, txn_last_update_timestamp=now_ms)

    def prepare_complete(self, now_ms: int) -> TxnTransitMetadata:
        """End the transaction: all partitions have (or will have) their markers."""
        state = COMPLETE_COMMIT if self.state is PREPARE_COMMIT else COMPLETE_ABORT
        transit = self._prepare(
            state, topic_partitions=frozenset(), txn_last_update_timestamp=now_ms
        )
        self.has_failed_epoch_fence = False  # The epoch is in the log by now.
        return transit

    def prepare_dead(self) -> TxnTransitMetadata:
        """Let the id expire."""
        return self._prepare(DEAD, topic_partitions=frozenset())

    def _prepare(self, state: TransactionState, **changes: object) -> TxnTransitMetadata:
        if self.pending_state is not None:
            raise IllegalTransitionError(f"{self} cannot prepare {state}: another is pending")
        if self.state not in state.valid_previous_states:
            raise IllegalTransitionError(f"{self} cannot become {state}")
        # Any change brings its own fields; replace() knows their names, mypy does not.
        transit: TxnTransitMetadata = replace(
            self.current,
            last_producer_id=self.producer_id,
            txn_state=state,
            **changes,  # type: ignore[arg-type]
        )
        if transit.producer_id < 0 or transit.producer_epoch < 0:
            raise IllegalTransitionError(f"{self} cannot become {transit}")
        self.pending_state = state
        return transit

    # --- completing

    def complete_transition_to(self, transit: TxnTransitMetadata) -> None:
        """Become what was prepared and is now in the log."""
        if self.pending_state is not transit.txn_state or not self._is_expected(transit):
            raise IllegalTransitionError(f"{self} was not prepared to become {transit}")
        if transit.txn_state is not EMPTY:
            # Only a producer that starts has a say in which id was the last one.
            transit = replace(transit, last_producer_id=self.current.last_producer_id)
        self.current = transit
        self.pending_state = None

    def reset_pending_state(self) -> None:
        """Give up what was prepared: it did not get into the log."""
        self.pending_state = None

    def _is_expected(self, transit: TxnTransitMetadata) -> bool:
        state, current = transit.txn_state, self.current
        if state is EMPTY:
            return (
                self._is_epoch_bump(transit)
                and not transit.topic_partitions
                and transit.txn_start_timestamp == NO_TIMESTAMP
            )
        if (
            transit.producer_id != current.producer_id
            or transit.producer_epoch != current.producer_epoch
            or transit.txn_timeout_ms != current.txn_timeout_ms
        ):
            return False
        if state is ONGOING:
            return current.topic_partitions <= transit.topic_partitions
        if state in (PREPARE_COMMIT, PREPARE_ABORT):
            return (
                current.topic_partitions == transit.topic_partitions
                and current.txn_start_timestamp == transit.txn_start_timestamp
            )
        # Dead and PrepareEpochFence are never written.
        return (
            state in (COMPLETE_COMMIT, COMPLETE_ABORT)
            and transit.txn_start_timestamp != NO_TIMESTAMP
        )

    def _is_epoch_bump(self, transit: TxnTransitMetadata) -> bool:
        if transit.producer_id != self.producer_id:
            return transit.producer_epoch == 0
        return transit.producer_epoch - self.producer_epoch in (0, 1)


def is_epoch_exhausted(producer_epoch: int) -> bool:
    """Whether no producer can be given a later epoch of the same id."""
    return producer_epoch >= LARGEST_EPOCH - 1


def new_transaction(
    transactional_id: str, producer_id: int, txn_timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    """Make the metadata of an id that nobody has used: it has no epoch yet."""
    return TransactionMetadata(
        transactional_id,
        TxnTransitMetadata(
            producer_id=producer_id,
            producer_epoch=NO_PRODUCER_EPOCH,
            txn_timeout_ms=txn_timeout_ms,
            txn_state=EMPTY,
            txn_last_update_timestamp=now_ms,
        ),
    )
