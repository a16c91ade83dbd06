"""The states of a transactional producer (part of Kafka's `TransactionManager`)."""

from enum import Enum

from kafkalike.protocol.errors import InvalidTxnStateError


class TransactionState(Enum):
    """Where a transactional producer stands; each state knows those it may follow."""

    UNINITIALIZED = "uninitialized"
    """Action: `init_transactions`. Transition: READY, or FATAL_ERROR."""
    READY = "ready"
    """Action: `begin_transaction`. Transition: IN_TRANSACTION."""
    IN_TRANSACTION = "in transaction"
    """Action: send. Transition: COMMITTING, ABORTING, or an error."""
    COMMITTING = "committing"
    """Action: none until the coordinator has answered. Transition: READY, or an error."""
    ABORTABLE_ERROR = "failed, to be aborted"
    """Action: `abort_transaction` only. Transition: ABORTING."""
    ABORTING = "aborting"
    """Action: none until the coordinator has answered. Transition: READY, or FATAL_ERROR."""
    FATAL_ERROR = "failed for good"
    """Action: close. Transition: none."""

    def check_follows(self, previous: "TransactionState") -> None:
        """Raise `InvalidTxnStateError` unless this state may come after that one."""
        if self is not TransactionState.FATAL_ERROR and previous not in _PREDECESSORS[self]:
            raise InvalidTxnStateError(
                f"a transaction that is {previous.value} cannot become {self.value}"
            )


_S = TransactionState
_PREDECESSORS = {
    _S.UNINITIALIZED: set[TransactionState](),
    _S.READY: {_S.UNINITIALIZED, _S.COMMITTING, _S.ABORTING},
    _S.IN_TRANSACTION: {_S.READY},
    _S.COMMITTING: {_S.IN_TRANSACTION},
    _S.ABORTING: {_S.IN_TRANSACTION, _S.ABORTABLE_ERROR},
    _S.ABORTABLE_ERROR: {_S.IN_TRANSACTION, _S.COMMITTING, _S.ABORTABLE_ERROR},
    _S.FATAL_ERROR: set(TransactionState),
}
