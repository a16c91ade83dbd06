"""The ZooKeeper server that pyspark carries: the few of its jars that make up the class path.

pyspark itself is not imported, which would take a second. Without snappy-java ZooKeeper dies
without a word when it writes its first snapshot; metrics-core serves the `srvr` command.
"""

import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError

_REQUIRED: Final = ("zookeeper", "zookeeper-jute", "slf4j-api", "metrics-core", "snappy-java")
# Without these ZooKeeper runs, but says nothing about what goes wrong.
_LOGGING: Final = ("log4j-api", "log4j-core", "log4j-slf4j2-impl")

# What SASL and TLS are made of.
_SECURITY: Final = (
    "netty-buffer",
    "netty-codec",
    "netty-codec-base",
    "netty-common",
    "netty-handler",
    "netty-resolver",
    "netty-transport",
    "netty-transport-classes-epoll",
    "netty-transport-native-unix-common",
    "netty-tcnative-classes",
)

_INSTALL: Final = "install it with: pip install 'kafkalike[embedded]'"


def class_path() -> list[Path]:
    """Return the jars that a ZooKeeper server needs."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EmbeddedZooKeeperError(
            f"the embedded ZooKeeper comes with pyspark, which is not installed: {_INSTALL}"
        )
    jars = Path(spec.origin).parent / "jars"
    names = sorted(path.name for path in jars.glob("*.jar"))
    try:
        return [jars / name for name in select_jars(names)]
    except LookupError as error:
        raise EmbeddedZooKeeperError(f"{error} in {jars}: {_INSTALL}") from None


def select_jars(names: Iterable[str]) -> list[str]:
    """Pick ZooKeeper's jars among all; LookupError names the ones that are missing."""
    by_artifact = {_artifact(name): name for name in names}
    missing = [artifact for artifact in _REQUIRED if artifact not in by_artifact]
    if missing:
        raise LookupError(f"no {', '.join(f'{artifact}-*.jar' for artifact in missing)}")
    found = [by_artifact[artifact] for artifact in _REQUIRED]
    if all(artifact in by_artifact for artifact in _LOGGING):
        found += [by_artifact[artifact] for artifact in _LOGGING]
    return found + [by_artifact[artifact] for artifact in _SECURITY if artifact in by_artifact]


def _artifact(name: str) -> str:
    """Cut the version off a jar's name: "slf4j-api-2.0.17.jar" is "slf4j-api"."""
    return re.sub(r"-\d[^-]*\.jar$", "", name)
