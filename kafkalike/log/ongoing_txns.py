"""The transactions of a partition that keep its last stable offset back.

Part of Kafka's `ProducerStateManager`: a transaction is ongoing until its marker is appended, and
then unreplicated until the high watermark has passed the marker.
"""

from kafkalike.log.producer_state_entry import CompletedTxn


class OngoingTxns:
    """Open and completed-but-unreplicated transactions by first offset."""

    def __init__(self) -> None:
        self._ongoing: dict[int, int] = {}  # first offset to producer id
        self._unreplicated: dict[int, int] = {}  # first offset to offset of the marker

    def start(self, producer_id: int, first_offset: int) -> None:
        """Note the first record of a transaction."""
        self._ongoing[first_offset] = producer_id

    def complete(self, completed: CompletedTxn) -> None:
        """Move a transaction from ongoing to unreplicated."""
        if self._ongoing.pop(completed.first_offset, None) is None:
            raise ValueError(f"Attempted to complete {completed} which was not started")
        self._unreplicated[completed.first_offset] = completed.last_offset

    def on_replicated(self, offset: int) -> None:
        """Forget the transactions whose marker is below an offset."""
        if self._unreplicated:
            self._unreplicated = {
                first: last for first, last in self._unreplicated.items() if last >= offset
            }

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """Return the first offset of any other open transaction, or what follows the marker."""
        others = (
            first
            for first, producer_id in self._ongoing.items()
            if producer_id != completed.producer_id
        )
        return min(others, default=completed.last_offset + 1)

    @property
    def first_undecided_offset(self) -> int | None:
        """The smallest first offset of the ongoing ones."""
        return min(self._ongoing, default=None)

    @property
    def first_unstable_offset(self) -> int | None:
        """The smallest first offset of all."""
        if not self._ongoing and not self._unreplicated:
            return None
        return min((*self._ongoing, *self._unreplicated))

    @property
    def has_unreplicated(self) -> bool:
        """Whether a completed transaction waits for the high watermark."""
        return bool(self._unreplicated)

    def clear(self) -> None:
        """Forget all."""
        self._ongoing.clear()
        self._unreplicated.clear()
