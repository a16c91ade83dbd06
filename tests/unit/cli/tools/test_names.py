"""Every tool is installed, has its script, and knows its manners: help, version, odd options."""

import configparser
import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafkalike.cli.tools.names import MODULES
from kafkalike.cli.tools.support.argument_tool import ArgumentTool
from kafkalike.cli.tools.support.tool import Tool
from tests.support.cli_golden import Outcome, run_tool
from tests.support.requirements import ROOT

LISTED = {
    "kafka-server-start",
    "kafka-server-stop",
    "zookeeper-server-start",
    "zookeeper-server-stop",
    "zookeeper-shell",
    "kafka-topics",
    "kafka-console-producer",
    "kafka-console-consumer",
    "kafka-consumer-groups",
    "kafka-configs",
    "kafka-acls",
    "kafka-reassign-partitions",
    "kafka-leader-election",
    "kafka-preferred-replica-election",
    "kafka-log-dirs",
    "kafka-dump-log",
    "kafka-delete-records",
    "kafka-get-offsets",
    "kafka-broker-api-versions",
    "kafka-cluster",
    "kafka-features",
    "kafka-transactions",
    "kafka-producer-perf-test",
    "kafka-consumer-perf-test",
    "kafka-verifiable-producer",
    "kafka-verifiable-consumer",
    "kafka-replica-verification",
    "kafka-delegation-tokens",
}


def tool(name: str) -> Any:
    return importlib.import_module(MODULES[name]).main


def say(name: str, *arguments: str) -> Outcome:
    return run_tool(MODULES[name].rpartition(".")[2].replace("_", "-"), arguments)


def test_all_of_kafkas_tools_are_there() -> None:
    assert set(MODULES) >= LISTED


def test_every_tool_is_installed_under_its_name() -> None:
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    lines = setup["options.entry_points"]["console_scripts"].split("\n")
    installed = dict(line.split(" = ") for line in lines if line)
    del installed["kafkalike"]
    assert installed == {name: f"{module}:main" for name, module in MODULES.items()}


@pytest.mark.parametrize("name", MODULES)
def test_every_tool_has_a_script_of_its_name(name: str) -> None:
    script = ROOT / "scripts" / name
    assert os.access(script, os.X_OK)
    assert script.read_text() == (ROOT / "scripts" / "kafka-topics").read_text()


@pytest.mark.parametrize("name", MODULES)
def test_version_is_that_of_kafka(name: str) -> None:
    found = say(name, "--version")
    assert found.stdout.endswith("2.8.2 (kafkalike)\n")
    assert (found.stderr, found.exit) == ("", 0)


@pytest.mark.parametrize("name", MODULES)
def test_help_names_all_options(name: str) -> None:
    found = say(name, "--help")
    text = found.stdout + found.stderr
    assert name in text or "Description" in text or "usage: " in text
    options = [option.name for option in getattr(tool(name), "options", ())]
    assert all(f"-{option}" in text for option in options)


@pytest.mark.parametrize("name", MODULES)
def test_option_that_nobody_knows_is_an_error_that_names_it(name: str) -> None:
    found = say(name, "--no-such-option")
    assert found.exit == 1
    assert "no-such-option" in found.stderr


# The others of Kafka's shell scripts would end the servers of whoever runs this test.
@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("-stop")])
def test_without_arguments_there_is_help_or_an_error(name: str) -> None:
    found = say(name)
    if isinstance(tool(name), ArgumentTool):
        assert found.exit == 0
        assert found.stdout.startswith("usage: ")
    elif not isinstance(tool(name), Tool):
        assert found.exit == 1
        assert found.stderr.startswith("USAGE: ")
    elif tool(name).needs_arguments:
        assert found.exit == 1
        assert "Description" in found.stderr


@pytest.mark.parametrize("name", MODULES)
def test_zookeeper_is_only_a_deprecated_alias_for_the_brokers_m74(name: str) -> None:
    """M74: nobody has to know where ZooKeeper is; 2.8's `--zookeeper` still works, and says so."""
    options = {option.name: option for option in getattr(tool(name), "options", ())}
    old = options.get("zookeeper") or options.get("authorizer-properties")
    if old is not None:
        assert old.help.startswith("DEPRECATED")
        assert "bootstrap-server" in options


def test_broker_that_is_away_is_named_with_what_to_do_next(tmp_path: Path) -> None:
    """The address and the next step, exit code 1 as Kafka's, and no stack trace."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        config = tmp_path / "client.properties"
        config.write_text("default.api.timeout.ms=100\n")
        shared = ["--bootstrap-server", address, "--command-config", str(config)]
        found = run_tool("kafka-topics", [*shared, "--list"])
    assert found.exit == 1
    assert f"no broker answers at {address}" in found.stdout
    assert "kafka-server-start" in found.stdout
    warnings = [line for line in found.stderr.splitlines() if " WARN " in line]
    assert len(warnings) == 1  # however often it was tried
    assert f"({address}) could not be established" in warnings[0]


def test_command_config_that_is_not_there_is_named() -> None:
    found = say(
        "kafka-topics", *["--list", "--bootstrap-server", "x:1", "--command-config", "nosuch"]
    )
    assert found.exit == 1
    assert "java.nio.file.NoSuchFileException: nosuch" in found.stderr


def test_help_needs_neither_twisted_nor_a_client() -> None:
    """The first output is there at once: what takes long to load is loaded when it is needed."""
    program = (
        "import importlib, sys\n"
        f"for module in {list(MODULES.values())}: importlib.import_module(module)\n"
        "print([name for name in sys.modules if name in ('twisted', 'kafkalike.client')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert done.stdout == "[]\n", done.stderr
