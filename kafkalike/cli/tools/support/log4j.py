"""Lines as the log4j of Kafka's tools writes them to standard error."""

from kafkalike.cli.tools.support.java_names import java_text, message_of
from kafkalike.cli.tools.support.tool import print_error, print_line
from kafkalike.cli.tools.support.wall_clock import local_time, now_ms


def print_failure(words: str, error: Exception, logger: str) -> None:
    """Say on standard output what went wrong, and log the error with its class."""
    print_line(f"{words}{message_of(error)}")
    log_error(f"{java_text(error)}\n", logger)


def log_error(text: str, logger: str) -> None:
    """Log an error; a stack trace in Java ends in a new line, so the logger's name has its own."""
    print_error(log_line("ERROR", text, logger))


def log_warning(text: str, logger: str) -> None:
    """Log a warning."""
    print_error(log_line("WARN", text, logger))


def log_line(level: str, text: str, logger: str) -> str:
    """Return a line of the log."""
    return f"[{log_time(now_ms())}] {level} {text} ({logger})"


def log_time(at_ms: int) -> str:
    """Return a time as log4j writes it."""
    return f"{local_time('%Y-%m-%d %H:%M:%S', at_ms)},{at_ms % 1000:03d}"
