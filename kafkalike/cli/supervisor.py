"""The supervisor of a broker: a small parent process that notices a crash at once.

It waits for the broker to end, hands signals on to it, and ends with its exit code. If the broker
died without goodbye, the supervisor ends the ZooKeeper session that the broker left behind, so that
the cluster need not wait for the session's time-out. If the supervisor is killed, the broker goes
on and a crash costs the time-out again.

This file is run by its path, by a Python without site packages (2.6 MB of its own memory): what the
end of a broker needs is imported when it comes.
"""

import os
import signal
import sys

HANDED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WAITED_FOR = (*HANDED_ON, signal.SIGCHLD)

_FROM_THE_TERMINAL = 0x80  # si_code SI_KERNEL: the broker, in the same process group, had it too


def become_supervisor(pid: int, directory: str) -> None:
    """Replace this process by the supervisor of its child; the child has the signals unblocked.

    The signals have to be blocked before the fork: none may come while nobody is there for it.
    """
    command = [sys.executable, "-I", "-S", __file__, str(pid), directory]
    os.execv(sys.executable, command)


def main(pid: int, directory: str) -> None:
    """Wait for the end of the broker, clean up after it, and end as it did."""
    status = _wait(pid)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED_FOR)  # from here on a signal ends us
    _end_session(pid, directory, os.waitstatus_to_exitcode(status))
    _end_as(status)


def _wait(pid: int) -> int:
    while True:
        caught = signal.sigwaitinfo(WAITED_FOR)
        if caught.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return status
        elif caught.si_code != _FROM_THE_TERMINAL:
            os.kill(pid, caught.si_signo)  # it cannot be a stranger's: nobody reaps it but us


def _end_session(pid: int, directory: str, exit_code: int) -> None:
    from pathlib import Path

    sys.path.append(str(Path(__file__).parents[2]))  # without site packages nothing else has it
    from kafkalike.zk.end_session import NoServerError, end_session
    from kafkalike.zk.session_file import read_session

    session = read_session(Path(directory))
    # One of another process belongs to a broker that was started since: it lives.
    if session is None or session.pid != pid:
        return
    if session.is_secured:
        _say(f"{session} of the broker (pid {pid}) has to time out: ZooKeeper wants TLS")
        return
    how = f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
    try:
        is_ended = end_session(
            session.connect,
            session.session_id,
            session.password,
            timeout_s=session.timeout_ms / 1000,
        )
        outcome = f"{session} is {'closed' if is_ended else 'gone already'}"
    except NoServerError as error:
        outcome = f"{session} has to time out: {error}"
    _say(f"the broker (pid {pid}) ended {how} and left its ZooKeeper session: {outcome}")


def _say(text: str) -> None:
    import time

    # The same shape as the broker's own lines, as they share a file.
    seconds, nanoseconds = divmod(time.clock_gettime_ns(time.CLOCK_REALTIME), 1_000_000_000)
    now = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    print(
        f"[{now},{nanoseconds // 1_000_000:03d}] WARN {text} (kafkalike.cli.supervisor)", flush=True
    )


def _end_as(status: int) -> None:
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code >= 0:
        sys.exit(exit_code)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the core of the broker is the one to read
    if -exit_code != signal.SIGKILL:
        signal.signal(-exit_code, signal.SIG_DFL)
    os.kill(os.getpid(), -exit_code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
