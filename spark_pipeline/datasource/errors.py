"""What goes wrong in the data source; messages name option, topic, partition and offset."""

from typing import Final

from kafkalike.protocol.errors import (
    ClusterAuthorizationError,
    GroupAuthorizationError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)


class DataSourceError(Exception):
    """The query cannot go on; the text says what to change."""


class OptionError(DataSourceError, ValueError):
    """An option that is missing, unknown or has a value that it cannot have."""


class DataLossError(DataSourceError):
    """Records that the query was to read are gone; `failOnDataLoss=false` goes on without them."""


class NoProgressError(DataSourceError):
    """A partition gave nothing for longer than `kafkaConsumer.pollTimeoutMs`."""


_PERMISSIONS: Final = (
    (TopicAuthorizationError, "Describe and {verb} on the topic"),
    (GroupAuthorizationError, "Read on the group, which has the name of the transaction"),
    (
        TransactionalIdAuthorizationError,
        "Describe and Write on the transactional id (option transactionalIdPrefix)",
    ),
    (ClusterAuthorizationError, "IdempotentWrite on the cluster"),
)


def missing_permission(error: BaseException, verb: str = "Read") -> str:
    """Return what the user lacks, as the end of a sentence; empty if it is something else."""
    for kind, needed in _PERMISSIONS:
        if isinstance(error, kind):
            return (
                f"; the user (options kafka.sasl.*, kafka.ssl.*) needs {needed.format(verb=verb)}"
            )
    return ""
