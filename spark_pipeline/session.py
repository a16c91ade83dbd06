"""The only builder of a SparkSession: Java found, Python named, settings that streams need."""

import os
import sys
import tempfile
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from spark_pipeline.java_shim import java_home

_DEFAULTS: Final = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
}


def build_session(
    name: str, master: str = "local[2]", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session; `settings` go over the defaults of this module."""
    prepare_environment(os.environ)
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in (_DEFAULTS | dict(settings or {})).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Set what Spark's launcher reads: which Java, and this Python for its workers."""
    environ["JAVA_HOME"] = str(java_home(_shim_directory(), environ))
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _shim_directory() -> Path:
    return Path(tempfile.gettempdir()) / f"kafkalike-java-{os.getuid()}"
