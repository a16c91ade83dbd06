"""Who this broker is: its cluster id and broker id, agreed between ZooKeeper, config and disks.

Part of Kafka's `KafkaServer`: `meta.properties` in every log directory says to whom the data there
belongs, so that a broker never serves what is another's.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kafkalike.config.broker_config import BrokerConfig
from kafkalike.log.broker_metadata_checkpoint import (
    BrokerMetadata,
    read_all_broker_metadata,
    read_broker_metadata,
    write_broker_metadata,
)
from kafkalike.log.errors import InconsistentBrokerMetadataError
from kafkalike.server.errors import StartupError
from kafkalike.zk.client import KafkaZkClient


class Identity(NamedTuple):
    """Settled at start; `offline_dirs` could not be read or written."""

    broker_id: int
    cluster_id: str
    offline_dirs: frozenset[Path]


async def settle_identity(
    zk: KafkaZkClient, config: BrokerConfig, directories: Sequence[Path], cluster_id: str
) -> Identity:
    """Check that all mean the same broker and cluster, drawing a broker id if none is set."""
    try:
        stored, offline = read_all_broker_metadata(directories)
    except InconsistentBrokerMetadataError as error:
        raise StartupError(str(error)) from None
    if stored.cluster_id is not None and stored.cluster_id != cluster_id:
        raise StartupError(
            f"The cluster id of this broker's data is {stored.cluster_id}, that of ZooKeeper is "
            f"{cluster_id}: the broker is trying to join the wrong cluster. Check "
            f"zookeeper.connect; if the data may go, empty {', '.join(map(str, directories))}."
        )
    broker_id = await _broker_id(zk, config, stored)
    return Identity(broker_id, cluster_id, frozenset(offline))


async def _broker_id(zk: KafkaZkClient, config: BrokerConfig, stored: BrokerMetadata) -> int:
    configured = config.effective_broker_id
    if configured >= 0:
        if stored.broker_id is not None and stored.broker_id != configured:
            raise StartupError(
                f"Configured broker.id {configured} doesn't match stored broker.id "
                f"{stored.broker_id} in meta.properties. If you moved your data, make sure your "
                "configured broker.id matches. If you intend to create a new broker, you should "
                "remove all data in your data directories (log.dirs)."
            )
        return configured
    if stored.broker_id is not None:
        return stored.broker_id
    if not config.broker_id_generation_enable:
        raise StartupError(
            "broker.id is not set and broker.id.generation.enable is false: set one of them."
        )
    # Generated ids begin above what people may have chosen for themselves.
    return await zk.generate_broker_sequence_id() + config.reserved_broker_max_id


def write_identity(identity: Identity, directories: Sequence[Path], now_ms: int) -> None:
    """Write `meta.properties` where it is missing or lacks something; it blocks."""
    wanted = BrokerMetadata(identity.cluster_id, identity.broker_id)
    for directory in directories:
        if directory not in identity.offline_dirs and read_broker_metadata(directory) != wanted:
            write_broker_metadata(directory, wanted, now_ms)
