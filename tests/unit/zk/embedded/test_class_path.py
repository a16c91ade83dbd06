import importlib.util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from kafkalike.zk.embedded.class_path import class_path, select_jars
from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError

ENOUGH = [
    "metrics-core-4.2.37.jar",
    "slf4j-api-2.0.17.jar",
    "snappy-java-1.1.10.8.jar",
    "zookeeper-3.9.5.jar",
    "zookeeper-jute-3.9.5.jar",
]
LOGGING = ["log4j-api-2.25.4.jar", "log4j-core-2.25.4.jar", "log4j-slf4j2-impl-2.25.4.jar"]
OTHERS = ["metrics-json-4.2.37.jar", "spark-core_2.13-4.2.0.jar", "log4j-1.2-api-2.25.4.jar"]


def _pyspark(monkeypatch: pytest.MonkeyPatch, home: Path | None) -> None:
    spec = ModuleSpec("pyspark", None, origin=str(home / "__init__.py")) if home else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)


def test_only_the_jars_of_zookeeper_are_picked() -> None:
    assert sorted(select_jars([*OTHERS, *ENOUGH])) == ENOUGH


def test_logging_is_picked_if_it_is_complete() -> None:
    assert sorted(select_jars([*OTHERS, *ENOUGH, *LOGGING])) == sorted([*ENOUGH, *LOGGING])
    assert sorted(select_jars([*OTHERS, *ENOUGH, *LOGGING[:2]])) == ENOUGH


def test_missing_jars_are_named() -> None:
    with pytest.raises(LookupError, match=r"no slf4j-api-\*\.jar, snappy-java-\*\.jar"):
        select_jars([name for name in ENOUGH if not name.startswith("s")])


def test_absent_pyspark_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    _pyspark(monkeypatch, None)
    with pytest.raises(EmbeddedZooKeeperError, match=r"pip install 'kafkalike\[embedded\]'"):
        class_path()


def test_pyspark_without_zookeeper_is_told_with_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _pyspark(monkeypatch, tmp_path)
    with pytest.raises(EmbeddedZooKeeperError, match=rf"zookeeper-\*\.jar.* in {tmp_path}/jars"):
        class_path()


def test_class_path_lies_in_pyspark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    for name in [*ENOUGH, *OTHERS]:
        (tmp_path / "jars" / name).touch()
    _pyspark(monkeypatch, tmp_path)
    assert sorted(class_path()) == [tmp_path / "jars" / name for name in ENOUGH]


def test_jars_for_sasl_and_tls_are_taken_where_they_are() -> None:
    netty = ["netty-handler-4.2.13.Final.jar", "netty-common-4.2.13.Final.jar"]
    assert set(netty) <= set(select_jars([*OTHERS, *ENOUGH, *netty]))
