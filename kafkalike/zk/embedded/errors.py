"""Why an embedded ZooKeeper ensemble cannot be started or stopped: a sentence for the user."""


class EmbeddedZooKeeperError(Exception):
    """Something the user must change: what is missing, taken or wrong, and the next step."""


class PortInUseError(EmbeddedZooKeeperError):
    """A port is taken; the caller completes the sentence with the option that chooses another."""
