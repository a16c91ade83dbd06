"""Errors that stay inside the broker: no client is ever answered with one of them by name."""


class CorruptIndexError(Exception):
    """An index file contradicts itself; it is rebuilt from the log."""


class InvalidOffsetError(Exception):
    """An offset would go backwards in an index."""


class LogSegmentOffsetOverflowError(Exception):
    """A segment holds an offset that is too far from its base for its index: it must be split."""

    def __init__(self, base_offset: int, offset: int) -> None:
        super().__init__(f"offset {offset} is out of range for the segment at {base_offset}")
        self.base_offset = base_offset


class OffsetsOutOfOrderError(Exception):
    """Records from a leader go backwards."""


class UnexpectedAppendOffsetError(Exception):
    """Records from a leader begin below the log end offset."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


class InconsistentBrokerMetadataError(Exception):
    """The `meta.properties` of the log directories are of different brokers or clusters."""


class LogDirLockedError(Exception):
    """Another broker uses a log directory."""


class LogCleaningAbortedError(Exception):
    """The cleaning of a log is to stop: the log is truncated, moved or deleted."""
