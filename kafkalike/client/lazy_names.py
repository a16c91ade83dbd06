"""Names of a package that are imported when they are asked for.

`kafkalike.client.simple_client` and the commands import the package and must not wait for all of it
(a command shows its first output in a fraction of a second).
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a module's `__getattr__` that finds each name in the module where it is."""

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(places[name]), name)

    return find
