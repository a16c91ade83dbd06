"""Splits the process of `kafkalike broker` in two: the supervisor and, below it, the broker."""

import os
import signal
from pathlib import Path

from kafkalike.cli.supervisor import WAITED_FOR, become_supervisor


def fork_below_supervisor(directory: Path) -> None:
    """Go on in a child process; this one becomes its supervisor and never returns.

    The directory is that of the broker's session file. Not for a process with threads: it is to be
    called before Twisted and kazoo are there.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_FOR)
    pid = os.fork()
    if pid:
        become_supervisor(pid, str(directory))
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
