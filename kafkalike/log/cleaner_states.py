"""The states of partitions with respect to cleaning. Decisions only.

Part of Kafka's `LogCleanerManager`. Kafka waits until a cleaning that it aborts has stopped. Here
nobody waits: what an aborted cleaning still does in its thread is thrown away, and the partition is
not cleaned anew before that is over.
"""

from enum import Enum
from typing import NamedTuple

from kafkalike.model.topic_partition import TopicPartition


class CleaningPhase(Enum):
    """What goes on with a partition that is not simply left alone.

    - IN_PROGRESS: it is being cleaned. Comes from nothing; `end` leads to nothing, a pause to
      ABORTED.
    - ABORTED: it was being cleaned when somebody asked for a pause, and has not stopped yet. Comes
      from IN_PROGRESS; `end` leads to PAUSED, or to nothing if the pause is over already.
    - PAUSED: it must not be cleaned. Comes from nothing or ABORTED; the last `resume` leads to
      nothing.
    """

    IN_PROGRESS = "LogCleaningInProgress"
    ABORTED = "LogCleaningAborted"
    PAUSED = "LogCleaningPaused"


class CleaningState(NamedTuple):
    """A phase, and how many have asked for a pause and not ended it."""

    phase: CleaningPhase
    pauses: int = 0


IN_PROGRESS = CleaningState(CleaningPhase.IN_PROGRESS)


class CleaningStates:
    """The partitions that are being cleaned or must not be; all others have no state."""

    def __init__(self) -> None:
        self._states: dict[TopicPartition, CleaningState] = {}

    def get(self, tp: TopicPartition) -> CleaningState | None:
        """Return the state of a partition, None if it is left alone."""
        return self._states.get(tp)

    def is_in_progress(self, tp: TopicPartition) -> bool:
        """Whether the partition is being cleaned and nobody has asked it to stop."""
        return self._states.get(tp) == IN_PROGRESS

    def begin(self, tp: TopicPartition) -> None:
        """Note that a partition is being cleaned."""
        if tp in self._states:
            raise self._illegal(tp, "begun")
        self._states[tp] = IN_PROGRESS

    def end(self, tp: TopicPartition) -> bool:
        """Note that the cleaning has stopped; whether it was left to come to its end."""
        state = self._states.get(tp)
        if state is None or state.phase is CleaningPhase.PAUSED:
            raise self._illegal(tp, "ended")
        self._set(tp, CleaningPhase.PAUSED, state.pauses)
        return state == IN_PROGRESS

    def abort_and_pause(self, tp: TopicPartition) -> None:
        """Have a cleaning stopped if there is one, and none begun until `resume`."""
        state = self._states.get(tp)
        if state is None:
            self._set(tp, CleaningPhase.PAUSED, 1)
        elif state.phase is CleaningPhase.PAUSED:
            self._set(tp, CleaningPhase.PAUSED, state.pauses + 1)
        else:
            self._states[tp] = CleaningState(CleaningPhase.ABORTED, state.pauses + 1)

    def resume(self, tp: TopicPartition) -> None:
        """End one pause."""
        state = self._states.get(tp)
        if state is None or not state.pauses:
            raise self._illegal(tp, "resumed")
        if state.phase is CleaningPhase.ABORTED:
            self._states[tp] = CleaningState(CleaningPhase.ABORTED, state.pauses - 1)
        else:
            self._set(tp, CleaningPhase.PAUSED, state.pauses - 1)

    def _set(self, tp: TopicPartition, phase: CleaningPhase, pauses: int) -> None:
        if pauses:
            self._states[tp] = CleaningState(phase, pauses)
        else:
            del self._states[tp]

    def _illegal(self, tp: TopicPartition, action: str) -> ValueError:
        return ValueError(
            f"Compaction for partition {tp} cannot be {action} since its state is "
            f"{self._states.get(tp)}"
        )
