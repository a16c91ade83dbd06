"""What people see on a terminal, and what programs see in a pipe."""

import io

import pytest

from kafkalike.cli.tools.support import listing
from kafkalike.cli.tools.support.listing import OUTPUT, show, styled, table
from kafkalike.cli.tools.support.options import parse
from kafkalike.cli.tools.support.progress import Progress

ROWS = [{"topic": "a", "count": 5, "isr": [1, 2]}, {"topic": "long-name", "count": 10, "isr": []}]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    show(parse([OUTPUT], options), ROWS, lambda: ["as Kafka has it"])
    return capsys.readouterr().out


def test_pipe_gets_the_text_of_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys) == "as Kafka has it\n"


def test_programs_get_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "--output", "json").startswith('[{"topic": "a", "count": 5')


def test_terminal_gets_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "is_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(capsys) == ("TOPIC      COUNT  ISR\na              5  1,2\nlong-name     10  -\n")
    assert table([]) == []


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert styled("x", "red") == "x"
    monkeypatch.setattr(listing, "is_terminal", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert styled("x", "red") == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert styled("x", "red") == "x"


def test_progress_is_drawn_on_a_terminal() -> None:
    screen = Terminal()
    with Progress("sending", 200, screen) as bar:
        bar.update(100, "now")
        bar.update(100, "now")
    assert screen.getvalue().count("\r") == 2
    assert f"\rsending [{'#' * 15}{'.' * 15}]  50% now" in screen.getvalue()
    assert screen.getvalue().endswith("\n")


def test_progress_is_silent_elsewhere() -> None:
    stream = io.StringIO()
    with Progress("sending", 200, stream) as bar:
        bar.update(100)
    assert stream.getvalue() == ""
