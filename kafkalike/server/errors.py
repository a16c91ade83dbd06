"""Why a broker cannot start, in words for the person who starts it."""


class StartupError(Exception):
    """Something that this person can mend."""
