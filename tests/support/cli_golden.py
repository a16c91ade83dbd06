"""Recorded commands of Kafka 2.8.2 (`tests/golden/cli`): run ours the same way and compare.

What differs between any two runs is masked on both sides: addresses, ids, times. Java's stack
frames and the descriptions in a help text (ours are our own) are left out; the options stay.
"""

import contextlib
import importlib
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.support.golden import GOLDEN

_MODULES: Final = {
    "kafka.tools.ClusterTool": "cluster",
    "kafka.admin.DelegationTokenCommand": "delegation_tokens",
    "kafka.admin.FeatureCommand": "features",
    "kafka.admin.PreferredReplicaLeaderElectionCommand": "preferred_replica_election",
    "kafka-run-class kafka.tools.GetOffsetShell": "get_offsets",
    "org.apache.kafka.tools.VerifiableProducer": "verifiable_producer",
}

_MASKS: Final = (
    (re.compile(r"127\.0\.0\.1:\d+"), "ADDRESS"),
    (re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\]"), "[TIME]"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d"), "TIME"),
    (re.compile(r"(TopicId: )\S{22}"), r"\1UUID"),
    (re.compile(r"(Cluster ID: )\S{22}"), r"\1UUID"),
    # Java's name of an array; ours has the brokers.
    (re.compile(r"(different replication factor: )\S.*"), r"\1ARRAY"),
)
_FRAME: Final = re.compile(r"(\tat |\tSuppressed: |Caused by: |\t\.\.\. \d+ more)")
_HELP_HEAD: Final = re.compile(r"^Option( \(\* = required\))? +Description", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What a command said, and how it ended."""

    stdout: str
    stderr: str
    exit: int


@dataclass(frozen=True)
class Recorded:
    """A command as it was recorded."""

    name: str
    tool: str
    args: list[str]
    outcome: Outcome
    stdin: str = ""
    files: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str) -> "Recorded":
        """Read `tests/golden/cli/<name>.json`."""
        found = json.loads((GOLDEN / "cli" / f"{name}.json").read_text())
        return cls(
            name,
            found["tool"],
            found["args"],
            Outcome(found["stdout"], found["stderr"], found["exit"]),
            found.get("stdin") or "",
            found.get("files") or {},
        )


def names_of(*prefixes: str) -> list[str]:
    """Return the recorded commands whose names begin so."""
    names = sorted(path.stem for path in (GOLDEN / "cli").glob("*.json"))
    return [name for name in names if name.startswith(prefixes)]


class GoldenCommands:
    """Runs recorded commands against a cluster of three brokers with the ids 1, 2, 3."""

    def __init__(self, directory: Path, addresses: Mapping[str, str]) -> None:
        self._directory = directory
        self._addresses = addresses
        """What stands in for recorded addresses and folders (`127.0.0.1:19101` is broker 1)."""

    def run(self, name: str) -> Outcome:
        """Run our tool with the recorded arguments, input and files."""
        recorded = Recorded.load(name)
        for file_name, content in recorded.files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (self._directory / file_name).write_text(self._placed(text))
        arguments = [self._placed(argument) for argument in recorded.args]
        with contextlib.chdir(self._directory):
            found = run_tool(recorded.tool, arguments, recorded.stdin)
        return Outcome(self._recorded(found.stdout), self._recorded(found.stderr), found.exit)

    def compare(
        self,
        name: str,
        *,
        shape: Callable[[str], Any] = str.splitlines,
        masks: Iterable[tuple[str, str]] = (),
    ) -> Outcome:
        """Run a command and hold it against its record, both brought into a shape."""
        found = self.run(name)
        wanted = Recorded.load(name).outcome
        mask = masker(masks)
        for stream in ("stdout", "stderr"):
            ours, theirs = mask(getattr(found, stream)), mask(getattr(wanted, stream))
            assert shape(ours) == shape(theirs), f"{stream} of {name}: {ours!r}"
        assert found.exit == wanted.exit, f"exit code of {name}: {found}"
        return found

    def _placed(self, text: str) -> str:
        for recorded, ours in self._addresses.items():
            text = text.replace(recorded, ours)
        return text

    def _recorded(self, text: str) -> str:
        for recorded, ours in self._addresses.items():
            text = text.replace(ours, recorded)
        return text


def run_tool(tool: str, arguments: Sequence[str], stdin: str = "") -> Outcome:
    """Run a tool in this process, by its script name, and return what it said."""
    module = importlib.import_module(f"kafkalike.cli.tools.{module_name(tool)}")
    stdout, stderr = _Stream(), _Stream()
    former = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            code = module.main(list(arguments))
    finally:
        sys.stdin = former
    return Outcome(stdout.text, stderr.text, code)


def module_name(tool: str) -> str:
    """Return the module of a tool by its recorded name: `kafka-topics` is `topics`."""
    known = _MODULES.get(tool) or next(
        (module for name, module in _MODULES.items() if name.startswith(f"{tool} ")), None
    )
    return known or tool.removeprefix("kafka-").replace("-", "_")


def masker(masks: Iterable[tuple[str, str]] = ()) -> Callable[[str], str]:
    """Return what turns the words of a tool into what must be the same in every run."""
    own = [(re.compile(pattern, re.MULTILINE), instead) for pattern, instead in masks]

    def mask(text: str) -> str:
        text = _without_descriptions(text)
        lines = [line for line in text.splitlines(keepends=True) if not _FRAME.match(line)]
        text = "".join(lines)
        for pattern, instead in (*_MASKS, *own):
            text = pattern.sub(instead, text)
        return text

    return mask


def _without_descriptions(text: str) -> str:
    """Keep only the names of options in a help text, without what only we have."""
    head = _HELP_HEAD.search(text)
    if head is None:
        return text
    options = re.findall(r"^(?:\* )?(--[\w-]+)", text[head.start() :], re.MULTILINE)
    return text[: head.start()] + "\n".join(name for name in options if name != "--output") + "\n"


def unordered(text: str) -> list[str]:
    """Return the lines in an order of their own: that of Java's hash maps means nothing."""
    return sorted(line.strip() for line in text.splitlines())


def unordered_words(text: str) -> list[list[str]]:
    """The same for what stands between commas and blanks, line by line."""
    return sorted(sorted(re.split(r"[\s,;(){}]+", line)) for line in text.splitlines())


class _Stream(io.TextIOWrapper):
    """Standard output as a tool finds it: text, with bytes below, and no terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def text(self) -> str:
        """All that was written."""
        self.flush()
        written = self.buffer
        assert isinstance(written, io.BytesIO)
        return written.getvalue().decode("utf-8", "backslashreplace")

    def fileno(self) -> int:
        """Say that there is no file below."""
        raise OSError("no file")
