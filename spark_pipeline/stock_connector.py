"""Spark's own Kafka connector: its jars through Maven, and a Python environment that matches them.

The connector must have the version of Spark. 4.0.0 is the newest of which both resolve, so the
stock connector has an environment of its own beside that of the native one.
"""

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Mapping
from importlib.metadata import requires
from pathlib import Path
from typing import Final

VERSION: Final = "4.0.0"
_SCALA: Final = "2.13"
_POM: Final = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>kafkalike</groupId><artifactId>spark-connector</artifactId><version>1</version>
<dependencies><dependency>
<groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_{scala}</artifactId>
<version>{version}</version>
</dependency></dependencies></project>
"""
_IN_SPARK: Final = ("hadoop-", "scala-", "slf4j-", "snappy-", "lz4-", "spark-tags", "jsr305")
"""What comes along with Spark itself."""


class ConnectorError(Exception):
    """The connector cannot be had; the text says why."""


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Return where jars and environment are kept."""
    base = environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(environ.get("KAFKALIKE_SPARK_CONNECTOR") or f"{base}/kafkalike/spark-{VERSION}")


def jars(directory: Path) -> list[Path]:
    """Return the jars for `spark.jars`; none if they have not been fetched."""
    found = sorted((directory / "jars").glob("*.jar"))
    return [jar for jar in found if not jar.name.startswith(_IN_SPARK)]


def python(directory: Path) -> Path:
    """Return the Python of the environment."""
    return directory / "venv/bin/python"


def is_ready(directory: Path) -> bool:
    """Whether jars and environment are there."""
    return bool(jars(directory)) and (directory / "ready").exists()


def fetch(directory: Path) -> None:
    """Get jars and environment, if they are not there."""
    if is_ready(directory):
        return
    if shutil.which("mvn") is None:
        raise ConnectorError("mvn is not on the PATH: the connector's jars come through Maven")
    directory.mkdir(parents=True, exist_ok=True)
    pom = directory / "pom.xml"
    pom.write_text(_POM.format(scala=_SCALA, version=VERSION))
    _run("mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies",
         "-DincludeScope=runtime", f"-DoutputDirectory={directory / 'jars'}")  # fmt: skip
    venv.create(directory / "venv", with_pip=True, clear=True)
    needed = [text for text in requires("kafkalike") or [] if "extra ==" not in text]
    wanted = [f"pyspark=={VERSION}", "pandas>=2.2,<3", "pyarrow>=15", *needed]
    _run(str(python(directory)), "-m", "pip", "install", "-q", *wanted)
    (directory / "ready").touch()


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which the environment finds these packages."""
    root = str(Path(__file__).parents[1])
    paths = [root, *filter(None, [environ.get("PYTHONPATH")])]
    kept = {k: v for k, v in environ.items() if not k.startswith(("PYSPARK_", "SPARK_HOME"))}
    return kept | {"PYTHONPATH": os.pathsep.join(paths)}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-15:]
        sys.stderr.write("\n".join(last) + "\n")
        raise ConnectorError(f"{Path(command[0]).name} failed with exit code {done.returncode}")
