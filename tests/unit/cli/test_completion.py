import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafkalike.cli.completion import completion
from kafkalike.cli.main import main
from kafkalike.cli.tools.names import MODULES


def script(shell: str) -> str:
    done = CliRunner().invoke(completion, [shell])
    assert done.exit_code == 0, done.output
    return done.output


def complete_in_bash(*words: str) -> list[str]:
    """Ask bash itself what it would offer for the last of these words."""
    asked = " ".join(map(shlex.quote, words))
    program = f"""{script("bash")}
COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _kafka_tools; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, timeout=30)
    assert not done.stderr
    return done.stdout.split()


def test_bash_offers_the_options_of_a_tool() -> None:
    assert complete_in_bash("kafka-topics", "--under") == [
        "--under-replicated-partitions",
        "--under-min-isr-partitions",
    ]
    found = complete_in_bash("scripts/kafka-producer-perf-test", "--rec")
    assert found == ["--record-size"]


def test_bash_offers_files_where_no_option_stands() -> None:
    assert complete_in_bash("kafka-topics", "--command-config", "cl") == []
    assert "complete -o default -F _kafka_tools" in script("bash")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_tool_and_the_umbrella_command_are_completed(shell: str) -> None:
    text = script(shell)
    assert "_KAFKALIKE_COMPLETE" in text
    assert [name for name in MODULES if name not in text] == []


def test_fish_is_told_what_options_mean_and_which_have_a_value() -> None:
    lines = script("fish").splitlines()
    assert "complete -c kafka-topics -l list -d 'List the topics.'" in lines
    assert "complete -c kafka-topics -l topic -r -d" in script("fish")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_that_are_here_can_read_it(shell: str, tmp_path: Path) -> None:
    if not any((Path(place) / shell).exists() for place in os.get_exec_path()):
        pytest.skip(f"there is no {shell} here")
    path = tmp_path / "script"
    path.write_text(script(shell))
    assert subprocess.run([shell, "-n", str(path)], timeout=30).returncode == 0


def test_kafkalike_completes_its_own_commands() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "kafkalike.cli.main"],
        env=os.environ
        | {"_KAFKALIKE_COMPLETE": "bash_complete", "COMP_WORDS": "kafkalike ex", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert answer.stdout == "plain,explain\n"


def test_the_umbrella_command_has_it() -> None:
    assert "completion" in main.list_commands(None)  # type: ignore[arg-type]  # needs no context
