"""Starting and stopping many brokers at once, but no more than the machine can bear."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kafkalike.launcher.broker_properties import HOST
from kafkalike.launcher.cluster_view import view_from
from kafkalike.launcher.errors import ClusterError
from kafkalike.launcher.fork_server import ForkServer
from kafkalike.launcher.local_broker import LocalBroker
from kafkalike.protocol.errors import ProtocolError

START_TIMEOUT_S: Final = 60.0

_POLL_S: Final = 0.02
_STOP_TIMEOUT_S: Final = 60.0
_HAND_OVER_S: Final = 1.0

OnBroker = Callable[[LocalBroker], None]


def start_brokers(
    brokers: Sequence[LocalBroker],
    fork_server: ForkServer,
    on_started: OnBroker,
    timeout_s: float = START_TIMEOUT_S,
) -> None:
    """Start brokers and wait until each answers; after a failure none of them is left running.

    With more of them at a time than processors, all would come up later and none sooner.
    """
    for broker in brokers:
        broker.check_port()
    waiting = deque(brokers)
    starting: dict[LocalBroker, float] = {}
    try:
        while waiting or starting:
            while waiting and len(starting) < _window():
                starting[waiting[0]] = time.monotonic() + timeout_s
                waiting.popleft().start(fork_server)
            for broker in [b for b, end in starting.items() if _is_up(b, end, fork_server)]:
                del starting[broker]
                on_started(broker)
            time.sleep(_POLL_S)
    except BaseException:  # Ctrl-C too: nothing may be left behind.
        stop_brokers(brokers, lambda _: None)
        raise


def wait_until_registered(
    brokers: Sequence[LocalBroker], wanted: Iterable[int], timeout_s: float = START_TIMEOUT_S
) -> None:
    """Wait until each of the brokers knows all the wanted ones."""
    ids = set(wanted)
    deadline = time.monotonic() + timeout_s
    for broker in brokers:
        while missing := ids - _known_to(broker):
            if not broker.is_running:
                raise ClusterError(f"{broker} ended; {broker.log_tail()}")
            if time.monotonic() >= deadline:
                raise ClusterError(
                    f"{broker} does not know of broker {min(missing)} after {timeout_s:g} s;"
                    f" {broker.log_tail()}"
                )
            time.sleep(_POLL_S)


def stop_brokers(
    brokers: Sequence[LocalBroker], on_stopped: OnBroker, timeout_s: float = _STOP_TIMEOUT_S
) -> list[LocalBroker]:
    """Stop brokers in order, all at once; returns those that had to be killed.

    Each hands its leaderships over. The last ones find nobody to take them, so those that take long
    are told a second time, upon which they stop without.
    """
    started = time.monotonic()
    running = [broker for broker in brokers if broker.is_running]
    for broker in running:
        broker.terminate()
    is_told_twice = False
    while running:
        for broker in [broker for broker in running if not broker.is_running]:
            running.remove(broker)
            on_stopped(broker)
        waited_s = time.monotonic() - started
        if waited_s >= timeout_s:
            break
        if waited_s >= _HAND_OVER_S and not is_told_twice:
            is_told_twice = True
            for broker in running:
                broker.terminate()
        time.sleep(_POLL_S)
    for broker in running:
        broker.kill()
        on_stopped(broker)
    return running


def _window() -> int:
    return (os.cpu_count() or 1) + 1


def _is_up(broker: LocalBroker, deadline: float, fork_server: ForkServer) -> bool:
    exit_code = fork_server.exit_code(broker.home)
    if exit_code is not None:
        raise ClusterError(f"{broker} ended with exit code {exit_code}; {broker.log_tail()}")
    if broker.answers():
        return True
    if time.monotonic() >= deadline:
        raise ClusterError(f"{broker} does not answer in time; {broker.log_tail()}")
    return False


def _known_to(broker: LocalBroker) -> set[int]:
    try:
        return set(view_from(HOST, broker.port).brokers)
    except (OSError, EOFError, ProtocolError):
        return set()
