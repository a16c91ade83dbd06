"""The kinds of client quota, and the keys by which ZooKeeper has them."""

from enum import StrEnum


class QuotaType(StrEnum):
    """What is limited; the value is the key in `/config/users` and `/config/clients`."""

    PRODUCE = "producer_byte_rate"
    FETCH = "consumer_byte_rate"
    REQUEST = "request_percentage"
    CONTROLLER_MUTATION = "controller_mutation_rate"


CONNECTION_RATE = "connection_creation_rate"
"""The key of the only quota of an address, in `/config/ips`."""

WHOLE_NUMBERS = frozenset({QuotaType.PRODUCE, QuotaType.FETCH, CONNECTION_RATE})
"""The quotas that have no fractions."""
