"""Typed settings of the jobs: a dataclass per job, filled from a TOML file and from arguments.

`--settings job.toml` comes first, arguments win over it. A key that nobody knows is an error that
says which one may be meant. Settings of Kafka clients (`security.protocol` and so on) stand in the
file's table `[kafka]` or are given as `--kafka key=value`.
"""

import argparse
import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, TypeVar

_DURATION: Final = re.compile(r"\d+ (seconds?|minutes?|hours?|days?)|available-now")


class SettingsError(ValueError):
    """A setting that is missing, unknown or has a value that it cannot have."""


def setting(default: Any, text: str) -> Any:
    """Declare a setting with its default and the text of its help."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """What every job has."""

    bootstrap_servers: str = setting("localhost:9092", "Brokers to begin with, host:port,…")
    connector: str = setting("native", "native (format kafkalike) or stock (Spark's own kafka).")
    master: str = setting("local[2]", "Spark master: local[2], spark://host:7077, yarn, k8s://….")
    jars: str = setting("", "Jars for Spark, with commas: those of the stock connector.")
    py_files: str = setting("", "Packages for the executors, with commas (see --ship).")
    kafka: Mapping[str, str] = field(
        default_factory=dict, metadata={"help": "Settings of Kafka clients, key=value."}
    )
    spark: Mapping[str, str] = field(
        default_factory=dict, metadata={"help": "Settings of Spark, key=value."}
    )

    def __post_init__(self) -> None:
        if self.connector not in ("native", "stock"):
            raise SettingsError(f"connector: {self.connector!r} is neither native nor stock")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings(JobSettings):
    """What every streaming job has."""

    checkpoint: str = setting(
        "", "Folder for offsets and state; it makes a job go on where it was."
    )
    trigger: str = setting(
        "5 seconds", "Time between batches, or available-now: read all, then end."
    )
    starting_offsets: str = setting("earliest", "earliest, latest or JSON, for the first start.")
    max_offsets_per_trigger: int = setting(0, "Most records of a batch; 0 for no limit.")
    fail_on_data_loss: bool = setting(True, "Whether records that are gone are an error.")
    delivery: str = setting("exactly-once", "Of result topics: exactly-once or at-least-once.")

    def __post_init__(self) -> None:
        # Not super(): slots make a new class, which the bare form does not know.
        JobSettings.__post_init__(self)
        if not self.checkpoint:
            raise SettingsError("checkpoint is missing: the folder that a job goes on from")
        if not _DURATION.fullmatch(self.trigger):
            raise SettingsError(f"trigger: {self.trigger!r} is not like '5 seconds', available-now")
        if self.delivery not in ("exactly-once", "at-least-once"):
            raise SettingsError(
                f"delivery: {self.delivery!r} is neither exactly-once nor at-least-once"
            )


Settings = TypeVar("Settings", bound=JobSettings)


def parse_settings(cls: type[Settings], description: str, arguments: Sequence[str]) -> Settings:
    """Read arguments, and the file that they name; ends the program where they are wrong."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--settings", type=Path, metavar="FILE", help="TOML file with settings.")
    for declared in fields(cls):
        _add_argument(parser, declared)
    given = vars(parser.parse_args(arguments))
    path = given.pop("settings")
    try:
        from_file = {} if path is None else read_toml(path)
        return make_settings(cls, from_file, {k: v for k, v in given.items() if v is not None})
    except SettingsError as error:
        parser.error(str(error))


def _add_argument(parser: argparse.ArgumentParser, declared: Any) -> None:
    name, text = f"--{declared.name.replace('_', '-')}", declared.metadata["help"]
    if declared.default is MISSING:
        parser.add_argument(name, action="append", metavar="KEY=VALUE", help=text)
        return
    shown = f"{text} Default: {declared.default}" if declared.default != "" else text
    if isinstance(declared.default, bool):
        parser.add_argument(name, action=argparse.BooleanOptionalAction, help=shown)
        return
    parser.add_argument(name, type=type(declared.default), help=shown.replace("%", "%%"))


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of settings."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: {error}") from None


def make_settings(
    cls: type[Settings], from_file: Mapping[str, Any], given: Mapping[str, Any]
) -> Settings:
    """Make settings of two sources; the second wins."""
    known = {declared.name: declared for declared in fields(cls)}
    values: dict[str, Any] = {}
    for key, value in from_file.items():
        name = key.replace("-", "_")
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f": is {close[0]} meant?" if close else ""
            raise SettingsError(f"{key} is not a setting of this job{hint}")
        values[name] = _checked(name, value, known[name].default)
    for name, value in given.items():
        if known[name].default is MISSING:
            values[name] = values.get(name, {}) | _pairs(name, value)
        else:
            values[name] = value
    return cls(**values)


def _checked(name: str, value: Any, default: Any) -> Any:
    if default is MISSING:
        if not isinstance(value, dict):
            raise SettingsError(f"{name} must be a table")
        return {key: _text(found) for key, found in _flat(value).items()}
    if type(value) is not type(default):
        raise SettingsError(f"{name}: {value!r} is not a {type(default).__name__}")
    return value


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Undo what TOML makes of bare keys with dots."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pairs(name: str, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"--{name}: {text!r} is not key=value")
        found[key] = value
    return found
