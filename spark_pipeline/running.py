"""Runs a job from the command line: session up, queries watched, everything stopped in order."""

import json
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from spark_pipeline.progress import progress_line
from spark_pipeline.session import build_session
from spark_pipeline.settings import JobSettings, Settings, StreamSettings, parse_settings

_LOOK_S = 1

StartQueries = Callable[[SparkSession, Any], list[StreamingQuery]]
"""Any: the settings of the job, whose class the caller gives."""


class StopFlag:
    """Set by SIGTERM and SIGINT: the queries stop; the next start repeats an unfinished batch."""

    def __init__(self) -> None:
        self.is_set = False

    def listen(self) -> None:
        """Take the signals; after the session is made, for pyspark takes SIGINT itself."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, number: int, frame: object) -> None:
        self.is_set = True


def run_stream(
    cls: type[Settings], description: str, start: StartQueries, arguments: Sequence[str] | None
) -> int:
    """Run a streaming job until it ends, fails or is told to stop; returns the exit code."""
    settings = parse_settings(cls, description, _given(arguments))
    spark = _session(description, settings)
    flag = StopFlag()
    flag.listen()
    try:
        queries = start(spark, settings)
        _say(f"running at {settings.bootstrap_servers}; SIGTERM or Ctrl-C stops it")
        watch(queries, flag)
    except PySparkException as error:
        _say(f"failed: {_reason(error)}")
        return 1
    finally:
        spark.stop()
    _say("stopped" if flag.is_set else "done")
    return 0


def run_batch(
    cls: type[Settings],
    description: str,
    run: Callable[[SparkSession, Any], str],
    arguments: Sequence[str] | None,
) -> int:
    """Run a batch job and print what it says; returns the exit code."""
    settings = parse_settings(cls, description, _given(arguments))
    spark = _session(description, settings)
    try:
        _say(run(spark, settings))
    except PySparkException as error:
        _say(f"failed: {_reason(error)}")
        return 1
    finally:
        spark.stop()
    return 0


def watch(queries: Sequence[StreamingQuery], flag: StopFlag) -> None:
    """Show the progress of queries until all have ended; a failed one stops the others."""
    shown: dict[str, int] = {}
    while any(query.isActive for query in queries) and not flag.is_set:
        for query in queries:
            _show(query, shown)
        active = [query for query in queries if query.isActive]
        failed = [query for query in queries if not query.isActive and query.exception()]
        if active and not failed:
            active[0].awaitTermination(_LOOK_S)
        elif failed:
            break
    for query in queries:
        _show(query, shown)
        if query.isActive:
            query.stop()
    for query in queries:
        query.awaitTermination()  # Raises what it failed of.


def _show(query: StreamingQuery, shown: dict[str, int]) -> None:
    for progress in query.recentProgress:
        found = json.loads(progress.json) if hasattr(progress, "json") else progress
        if found["batchId"] > shown.get(str(query.id), -1):
            shown[str(query.id)] = found["batchId"]
            _say(progress_line(found))


def _session(description: str, settings: JobSettings) -> SparkSession:
    more = {"spark.log.level": "ERROR"}
    if settings.jars:
        more["spark.jars"] = settings.jars
    if settings.py_files:
        more["spark.submit.pyFiles"] = settings.py_files
    if isinstance(settings, StreamSettings):
        # A stop waits for what a task is doing, and then no longer.
        more["spark.sql.streaming.stopTimeout"] = "60s"
    name = description.partition("\n")[0].rstrip(".")
    return build_session(name, settings.master, more | dict(settings.spark))


def _reason(error: PySparkException) -> str:
    """Return the lines that say what is wrong, without Java's and Python's stacks."""
    text = str(error)
    last = [line.strip() for line in text.splitlines() if "Error: " in line]
    return last[-1] if last else text.partition("\n")[0]


def _given(arguments: Sequence[str] | None) -> Sequence[str]:
    return sys.argv[1:] if arguments is None else arguments


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
