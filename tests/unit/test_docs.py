"""What the documents say of the tree is true: README, deviations, decisions."""

import configparser
import re

import click
import pytest

from kafkalike.cli.main import main
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.server.api.registry import load_apis
from tests.support.source_tree import PACKAGE, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
COMMAND = re.compile(r"^    kafkalike (.+)$", re.MULTILINE)


def test_readme_names_every_folder_of_the_package() -> None:
    folders = {f"kafkalike/{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}
    folders |= {"zk_schemas", "spark_pipeline", "scripts", "tests", "docs"}
    assert set(re.findall(r"^\| `([\w/]+)` \|", README, re.MULTILINE)) == folders


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: object) -> None:
    path = ROOT / str(document)
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize("line", COMMAND.findall(README))
def test_commands_of_the_readme_exist(line: str) -> None:
    words = line.split("#")[0].split()
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("script", re.findall(r"scripts/[\w-]+", README))
def test_scripts_of_the_readme_can_be_run(script: str) -> None:
    assert (ROOT / script).stat().st_mode & 0o111


def test_no_api_is_missing() -> None:
    """ApiVersions tells of all that Kafka 2.8 has: 56 APIs."""
    assert set(load_apis()) == set(ApiKey)
    assert len(ApiKey) == 56


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs/adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_layers_of_the_design_are_those_that_are_checked() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    layers = settings["importlinter:contract:layers"]["layers"].split("\n")[1:]
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    assert "\n".join(f"    {layer}" for layer in layers) in text


def test_files_that_the_design_names_exist() -> None:
    text = (ROOT / "docs/design.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`([\w/]+\.py)`", text))
    places = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("kafkalike/**/*.py")}
    places |= {path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/*.py")}
    assert not {name for name in names if not any(f"/{p}".endswith(f"/{name}") for p in places)}
