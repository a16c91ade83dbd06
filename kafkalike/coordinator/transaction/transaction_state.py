"""The states of a transaction, and from which state each may be entered (TransactionMetadata).

Empty ──► Ongoing ──► PrepareCommit ──► CompleteCommit ──► Ongoing, Empty, Dead
             │ │
             │ └────► PrepareAbort ───► CompleteAbort ───► Ongoing, Empty, Dead
             │             ▲
             └──► PrepareEpochFence
"""

from enum import Enum


class TransactionState(Enum):
    """What a transactional id is doing; the value is the number written to the log."""

    EMPTY = 0
    """The producer has its id and epoch, and no transaction yet.

    Action: give the next epoch to a producer that starts anew.
    Transition: partitions or offsets are added → Ongoing; the id expires → Dead.
    """

    ONGOING = 1
    """The transaction is open.

    Action: take more partitions and offsets.
    Transition: the producer commits → PrepareCommit, aborts → PrepareAbort; another producer with
    the same id starts, or the time is up → PrepareEpochFence.
    """

    PREPARE_COMMIT = 2
    """Decided: from here on the transaction is committed, whoever coordinates it.

    Action: have the markers written; answer others with CONCURRENT_TRANSACTIONS.
    Transition: all partitions have their marker → CompleteCommit.
    """

    PREPARE_ABORT = 3
    """Decided: from here on the transaction is aborted, whoever coordinates it.

    Action: have the markers written; answer others with CONCURRENT_TRANSACTIONS.
    Transition: all partitions have their marker → CompleteAbort.
    """

    COMPLETE_COMMIT = 4
    """Committed in all partitions.

    Action: answer a repeated commit with success.
    Transition: the next transaction → Ongoing; a producer starts anew → Empty; expiry → Dead.
    """

    COMPLETE_ABORT = 5
    """Aborted in all partitions.

    Action: answer a repeated abort with success.
    Transition: the next transaction → Ongoing; a producer starts anew → Empty; expiry → Dead.
    """

    DEAD = 6
    """Expired. Never written: the tombstone of the id is, and then the id is forgotten."""

    PREPARE_EPOCH_FENCE = 7
    """The epoch is being raised to lock out a producer. Never written, it is only pending.

    Transition: at once → PrepareAbort, with the new epoch.
    """

    @property
    def valid_previous_states(self) -> frozenset["TransactionState"]:
        """The states from which this one may be entered."""
        return _VALID_PREVIOUS_STATES[self]

    @property
    def is_expiration_allowed(self) -> bool:
        """Whether an id in this state may be forgotten after a while."""
        return self in _AT_REST

    @property
    def is_never_written(self) -> bool:
        """Whether this state is only ever pending."""
        return self in (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)

    @property
    def kafka_name(self) -> str:
        """The name that Kafka's tools print."""
        return self.name.title().replace("_", "")


_AT_REST = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)
_VALID_PREVIOUS_STATES = {
    TransactionState.EMPTY: _AT_REST,
    TransactionState.ONGOING: _AT_REST | {TransactionState.ONGOING},
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: frozenset(
        {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE}
    ),
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: _AT_REST,
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}
