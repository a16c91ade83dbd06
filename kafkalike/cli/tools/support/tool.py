"""A tool: its options and what it does, run with the manners of Kafka's tools.

Standard output has the result, standard error has what went wrong; the exit code is 0 or 1. What
nobody caught is shown as Java does it, in one line.
"""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kafkalike.cli.tools.support.errors import JavaError, OptionError, ToolFailure, UsageError
from kafkalike.cli.tools.support.help import format_help
from kafkalike.cli.tools.support.options import Option, Parsed, parse, switch

KAFKA_VERSION: Final = "2.8.2"
_OBJECTS_PER_COLLECTION: Final = 50_000

HELP: Final = switch("help", "Show this help.")
VERSION: Final = switch("version", "Show the version.")


@dataclass(frozen=True, slots=True)
class Tool:
    """A command; `purpose` is the first line of its help, `preamble` that of all it says."""

    name: str
    purpose: str
    options: Sequence[Option]
    run: Callable[[Parsed], int | None]
    needs_arguments: bool = True
    preamble: str = ""
    helps_with_options: bool = False
    """Whether options that cannot be read are answered with the help."""

    def __call__(self, arguments: Sequence[str] | None = None) -> int:
        """Run it, to its end, and return the exit code."""
        given = command_line() if arguments is None else list(arguments)
        return finish(lambda: self._run_or_help(given))

    def _run_or_help(self, arguments: list[str]) -> int:
        try:
            return self._run(arguments)
        except UsageError as error:
            return self._die_with_help(str(error))

    def _run(self, arguments: list[str]) -> int:
        if self.preamble:
            print_line(self.preamble)
        parsed = self._parse(arguments)
        if parsed.has("help") or (self.needs_arguments and not arguments):
            raise UsageError(self.purpose)
        if parsed.has("version"):
            print_line(f"{KAFKA_VERSION} (kafkalike)")
            return 0
        return self.run(parsed) or 0

    def _parse(self, arguments: list[str]) -> Parsed:
        try:
            return parse([*self.options, HELP, VERSION], arguments)
        except OptionError as error:
            if self.helps_with_options:
                raise UsageError(str(error)) from error
            raise

    def _die_with_help(self, message: str) -> int:
        print_error(message)
        sys.stderr.write(format_help([*self.options, HELP, VERSION]))
        return 1


def command_line() -> list[str]:
    """Return the arguments of this process, which runs a tool and nothing else."""
    # Loading a client makes a hundred thousand objects and no garbage: a sixth of the time goes
    # into looking for some.
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    return sys.argv[1:]


def finish(work: Callable[[], int]) -> int:
    """Run a tool to its end and return the exit code, whatever happens."""
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has gone: not our failure, and nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ToolFailure as error:
        if str(error):
            print_error(str(error))
        return error.exit_code
    except JavaError as error:
        return _uncaught(f"{error.java_class}: {error}")
    except (OSError, ValueError) as error:
        return _uncaught(str(error))
    except Exception as error:
        # Inside, because the errors of the protocol are not loaded for help.
        from kafkalike.cli.tools.support.java_names import java_text
        from kafkalike.protocol.errors import KafkaError

        if isinstance(error, KafkaError):
            return _uncaught(java_text(error))
        raise
    return code


def _uncaught(text: str) -> int:
    print_error(f'Exception in thread "main" {text}')
    return 1


def print_line(text: str = "") -> None:
    """Write a line to standard output."""
    sys.stdout.write(f"{text}\n")


def print_error(text: str) -> None:
    """Write a line to standard error, after all that went to standard output."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
