"""Coroutines in tests without a reactor: what is awaited must be there at once."""

from collections.abc import Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that has nothing to wait for and return (or raise) what it does."""
    return result_of(start(coroutine))


def start(coroutine: Coroutine[Any, Any, T]) -> "Deferred[T]":
    """Begin a coroutine that will wait; take its end with `result_of`."""
    return Deferred.fromCoroutine(coroutine)


def result_of(deferred: "Deferred[T]") -> T:
    """Return (or raise) what a coroutine that was begun has come to."""
    outcome: list[T | Failure] = []
    deferred.addBoth(outcome.append)
    assert outcome, "the coroutine still waits for something"
    (result,) = outcome
    if isinstance(result, Failure):
        result.raiseException()
    return result
