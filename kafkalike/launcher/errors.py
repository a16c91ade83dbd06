"""Why a local cluster cannot be started, changed or stopped: a sentence for the user."""


class ClusterError(Exception):
    """Something the user must change: what is missing, taken or wrong, and the next step."""
