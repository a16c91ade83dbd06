"""Where records that are appended to a log come from, which decides how they are checked."""

from enum import Enum, auto


class AppendOrigin(Enum):
    """The source of an append."""

    CLIENT = auto()
    """A producer: everything is checked."""

    COORDINATOR = auto()
    """A group or transaction coordinator: epochs are checked, sequences are not there."""

    REPLICATION = auto()
    """A leader that has checked already: nothing is refused but corrupt bytes."""
