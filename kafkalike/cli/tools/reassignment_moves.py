"""Moves of replicas between the log directories of a broker."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkalike.cli.tools.reassignment_plan import LOG_DIR_RATE, Directories, Replica
from kafkalike.cli.tools.support.partition_file import AdminCommandFailedError
from kafkalike.cli.tools.support.tool import print_line
from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.admin.values import ConfigResource, ConfigResourceType
from kafkalike.protocol.errors import ErrorCode

_RETRY_MS: Final = 100


class TerseError(Exception):
    """What went wrong, said without the name of an error."""


async def directories_of(admin: Admin, replicas: Iterable[Replica]) -> dict[Replica, Directories]:
    """Ask the brokers where they have replicas."""
    wanted = list(replicas)
    found: dict[Replica, Directories] = {}
    for broker in {replica.broker_id for replica in wanted}:
        mine = [replica for replica in wanted if replica.broker_id == broker]
        answer = await admin.describe_log_dirs([replica.tp for replica in mine], [broker])
        for replica in mine:
            found[replica] = _find(answer[broker], replica)
    return found


def _find(directories: list[dict[str, Any]], replica: Replica) -> Directories:
    paths: dict[bool, str] = {}
    for entry in directories:
        for topic in entry["topics"]:
            for part in topic["partitions"]:
                if (topic["name"], part["partition_index"]) == replica.tp:
                    paths[part["is_future_key"]] = entry["log_dir"]
    return Directories(paths.get(False), paths.get(True))


async def execute_moves(admin: Admin, moves: Mapping[Replica, str], timeout_ms: int) -> None:
    """Start moves; a replica that has still to come to its broker is asked for again."""
    deadline_ms = admin.client.time.now_ms() + timeout_ms
    pending = dict(moves)
    while pending:
        started = await _start(admin, pending)
        if started:
            plural = "" if len(started) == 1 else "s"
            names = ",".join(map(str, sorted(started)))
            print_line(f"Successfully started log directory move{plural} for: {names}")
        pending = {replica: path for replica, path in pending.items() if replica not in started}
        if pending and admin.client.time.now_ms() >= deadline_ms:
            plural = "" if len(pending) == 1 else "s"
            names = ",".join(map(str, sorted(pending)))
            raise TerseError(
                f"Timed out before log directory move{plural} could be started for: {names}"
            )
        if pending:
            await admin.client.time.sleep_ms(_RETRY_MS)


async def _start(admin: Admin, moves: Mapping[Replica, str]) -> set[Replica]:
    keys = {(r.topic, r.partition, r.broker_id): r for r in moves}
    results = await admin.alter_replica_log_dirs({key: moves[r] for key, r in keys.items()})
    for key, error in results.items():
        if error is not None and error.code != ErrorCode.REPLICA_NOT_AVAILABLE:
            raise AdminCommandFailedError(f"Failed to alter dir for {keys[key]}") from error
    return {keys[key] for key, error in results.items() if error is None}


async def limit_directory_moves(admin: Admin, moves: Iterable[Replica], rate: int) -> None:
    """Throttle moves between directories on the brokers that have some."""
    for broker in sorted({replica.broker_id for replica in moves}):
        resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {LOG_DIR_RATE: str(rate)})
        await admin.incremental_alter_configs([resource])
    print_line(f"The replica-alter-dir throttle limit was set to {rate} B/s")
