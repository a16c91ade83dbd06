"""The examples of docs/tools.md run, one after the other, and say what the document says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kafkalike.cli.tools.names import MODULES
from tests.support.cluster import Cluster
from tests.support.ensemble import Ensemble
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.ensemble

DOCUMENT = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


class Example(NamedTuple):
    """A command, and what it says; `…` stands for anything."""

    command: str
    said: str


def examples() -> list[Example]:
    found = []
    for block in BLOCK.findall(DOCUMENT):
        for part in ("\n" + block).split("\n$ ")[1:]:
            command, _, said = part.partition("\n")
            found.append(Example(command, _without_trailing_blanks(said)))
    return found


def _without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def check(example: Example, server: str, directory: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", example.command.replace("localhost:9092", server)],
        cwd=directory,
        env=os.environ | {"PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = _without_trailing_blanks(done.stdout)
    wanted = re.escape(example.said).replace("…", ".*")
    assert done.returncode == 0, f"{example.command}: {said}{done.stderr}"
    assert re.fullmatch(wanted, said, re.DOTALL), f"{example.command} said:\n{said}\n{done.stderr}"


def test_document_names_every_tool() -> None:
    assert [name for name in MODULES if f"`{name}`" not in DOCUMENT] == []


def test_examples_use_what_there_is() -> None:
    """Cheap, and so in every run: names of tools and options. The long test runs them all."""
    assert len(examples()) > 20
    for example in examples():
        tools = re.findall(r"\b(?:kafka-[\w-]+|kafkalike)\b", example.command)
        assert set(tools) <= {*MODULES, "kafkalike"}, example.command


@pytest.mark.long
def test_examples_say_what_the_document_says(ensemble: Ensemble, tmp_path: Path) -> None:
    """M84: in the order of the document, which is what a user does one after the other."""
    with Cluster(tmp_path / "cluster", f"{ensemble.connect_string}/tools-docs") as cluster:
        cluster.up(settings={"group.initial.rebalance.delay.ms": "0"})
        server = cluster.bootstrap_servers.split(",")[0]
        for example in examples():
            check(example, server, tmp_path)
