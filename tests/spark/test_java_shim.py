"""A `java` that Spark accepts, where there is only the runtime from PyPI."""

import subprocess
from pathlib import Path

from spark_pipeline.java_shim import has_module, make_shim

WANTED = "--add-modules=jdk.incubator.vector"


def a_java(path: Path, modules: str = "") -> Path:
    """Write a java that shows its arguments, one per line."""
    path.write_text(
        f'#!/bin/sh\nif [ "$1" = --list-modules ]; then echo "{modules}"; exit; fi\n'
        'for argument in "$@"; do echo "<$argument>"; done\n'
    )
    path.chmod(0o755)
    return path


def test_shim_drops_the_module_that_is_not_there_and_nothing_else(tmp_path: Path) -> None:
    home = make_shim(a_java(tmp_path / "real java"), tmp_path / "home")
    command = [home / "bin/java", "-cp", "a b:c", WANTED, "Main", "it's", ""]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["<-cp>", "<a b:c>", "<Main>", "<it's>", "<>"]


def test_module_is_looked_for_by_its_whole_name(tmp_path: Path) -> None:
    java = a_java(tmp_path / "java", "java.base@17\njdk.incubator.vector@17")
    assert has_module(java, "jdk.incubator.vector")
    assert not has_module(java, "jdk.incubator")


def test_shim_may_be_made_again_while_it_is_used(tmp_path: Path) -> None:
    for _ in range(2):
        home = make_shim(a_java(tmp_path / "java"), tmp_path / "home")
    assert [path.name for path in (home / "bin").iterdir()] == ["java"]
