"""The door to the package `cryptography`, which not every installation has.

It is loaded when something first needs it: brokers without PKCS12 files, encrypted settings or
signed tokens do not pay for it. TLS with PEM and SCRAM need no more than Python.
"""

from importlib import import_module
from typing import Any

from kafkalike.config.errors import ConfigError


def load(module: str, purpose: str) -> Any:  # Any: a module, known by its name only
    """Return a module of the package, or raise a `ConfigError` that says how to get it."""
    try:
        return import_module(f"cryptography.{module}")
    except ImportError:
        raise ConfigError(f"{purpose} needs more: pip install 'kafkalike[tls]'") from None
