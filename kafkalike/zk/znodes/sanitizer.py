"""Names that may hold any character as parts of a znode path (Kafka's `Sanitizer`).

Users and client ids are percent-encoded as Java's URLEncoder does, but a space becomes `%20`.
"""

from urllib.parse import quote, unquote


def sanitize(name: str) -> str:
    """Make a name fit for a path."""
    return quote(name, safe="").replace("~", "%7E")


def desanitize(name: str) -> str:
    """Give the name back."""
    return unquote(name)
