"""What `pip install .` installs: the wheel is built once, looked into, and run away from here."""

import configparser
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

SOURCES = ("kafkalike", "spark_pipeline", "zk_schemas")
# Python finds this module by its name, so it is installed beside the packages.
DISCOVERY = "spark_pipeline/discovery/"
FILES = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the wheel is built from, as building leaves files beside the sources."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
    for name in FILES:
        shutil.copy(ROOT / name, checkout)
    return checkout


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The built wheel."""
    directory = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--retries", "1"]
    done = subprocess.run(
        [*pip, "--wheel-dir", directory, checkout], capture_output=True, text=True, timeout=300
    )
    if "No matching distribution found for setuptools" in done.stderr:
        pytest.skip("pip cannot fetch setuptools, which builds the wheel: no package index here")
    assert done.returncode == 0, done.stderr
    (built,) = directory.glob("*.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def site(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked: all of it is plain Python, so this is an installation."""
    directory = tmp_path_factory.mktemp("site")
    wheel.extractall(directory)
    return directory


def _metadata(wheel: zipfile.ZipFile, name: str) -> str:
    (path,) = [path for path in wheel.namelist() if path.endswith(f".dist-info/{name}")]
    return wheel.read(path).decode()


def test_wheel_holds_all_of_the_package_and_nothing_else(
    wheel: zipfile.ZipFile, checkout: Path
) -> None:
    installed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(checkout).as_posix().removeprefix(DISCOVERY)
        for source in SOURCES
        for path in (checkout / source).rglob("*")
        if path.is_file()
    }
    assert installed == wanted
    assert "kafkalike/py.typed" in installed
    assert "kafkalike/protocol/messages/fetch.pyi" in installed


def test_wheel_holds_the_schemas_of_the_znodes(wheel: zipfile.ZipFile, checkout: Path) -> None:
    schemas = {n for n in wheel.namelist() if n.startswith("zk_schemas/") and n.endswith(".json")}
    assert schemas == {
        f"zk_schemas/{path.name}" for path in (checkout / "zk_schemas").glob("*.json")
    }
    assert schemas


def test_wheel_has_the_command(wheel: zipfile.ZipFile) -> None:
    entry_points = configparser.ConfigParser()
    entry_points.read_string(_metadata(wheel, "entry_points.txt"))
    assert entry_points["console_scripts"]["kafkalike"] == "kafkalike.cli.main:main"


def test_install_stays_light(wheel: zipfile.ZipFile) -> None:
    assert sum(info.file_size for info in wheel.infolist()) < 10 << 20
    metadata = HeaderParser().parsestr(_metadata(wheel, "METADATA"))
    required = metadata.get_all("Requires-Dist") or []
    core = {line.split(";")[0].split("<")[0].split(">")[0] for line in required if ";" not in line}
    # All of these together are tens of MB; pyspark alone would be 500.
    assert core == {"click", "cramjam", "crc32c", "kazoo", "twisted"}
    extras = set(metadata.get_all("Provides-Extra") or [])
    assert {"embedded", "spark", "docker", "test", "all"} <= extras


def test_installation_works_away_from_the_checkout(site: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        environ = {**os.environ, "PYTHONPATH": str(site)}
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environ
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-c", "import kafkalike; print(kafkalike.__file__)").startswith(str(site))
    assert run("-m", "kafkalike.cli.main", "--version").startswith("kafkalike 0.")
    assert "SERVER.PROPERTIES" in run("-m", "kafkalike.cli.main", "broker", "--help")
    schema = (
        "import importlib.resources, json\n"
        "files = importlib.resources.files('zk_schemas').iterdir()\n"
        "for file in files:\n"
        "    if file.name.endswith('.json'):\n"
        "        print(json.loads(file.read_text())['$schema'])\n"
    )
    assert "json-schema.org" in run("-c", schema)
