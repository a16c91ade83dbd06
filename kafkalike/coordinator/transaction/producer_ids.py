"""Producer ids, each given out once in the whole cluster (Kafka's ProducerIdManager).

A broker takes blocks of them in ZooKeeper, by conditional writes, and gives them out one by one.
What is left of a block when the broker stops is never used.
"""

from typing import Final, Protocol

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from kafkalike.protocol.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    UnknownServerError,
)
from kafkalike.zk.errors import ZkError
from kafkalike.zk.znodes import ProducerIdBlock

log = Logger()

PRODUCER_ID_BLOCK_SIZE: Final = 1000
_LARGEST_ID: Final = (1 << 63) - 1


class ProducerIdBlocks(Protocol):
    """Where blocks are taken: `KafkaZkClient`."""

    async def get_latest_producer_id_block(self) -> tuple[ProducerIdBlock | None, int]:
        """Read the block taken last, and the version for the next write."""

    async def conditional_set_producer_id_block(
        self, block: ProducerIdBlock, expected_version: int
    ) -> bool:
        """Take a block; False if another broker was quicker."""


class ProducerIdManager:
    """Gives out producer ids; one per broker."""

    def __init__(self, broker_id: int, blocks: ProducerIdBlocks) -> None:
        self._broker_id = broker_id
        self._blocks = blocks
        self._left: range = range(0)
        self._waiting: list[Deferred[None]] | None = None

    async def generate_producer_id(self) -> int:
        """Return an id that nobody else has."""
        while not self._left:
            await self._await_block()
        producer_id = self._left[0]
        self._left = self._left[1:]
        return producer_id

    async def take_first_block(self) -> None:
        """Take a block before anybody asks, as a starting Kafka broker does."""
        try:
            await self._await_block()
        except KafkaError as error:
            log.warn("{error}", error=error)

    async def _await_block(self) -> None:
        """Take a block, or wait for the one that another caller is taking."""
        if self._waiting is not None:
            turn: Deferred[None] = Deferred()
            self._waiting.append(turn)
            await turn
            return
        self._waiting = []
        try:
            self._left = await self._take_block()
        finally:
            # Each looks for itself whether there is a block now.
            waiting, self._waiting = self._waiting, None
            for turn in waiting:
                turn.callback(None)

    async def _take_block(self) -> range:
        try:
            block = await self._take_next_block()
        except ZkError as error:
            # The session has expired. It will be back, and producers take this as a reason to ask
            # again (Kafka's UNKNOWN_SERVER_ERROR would end them).
            raise CoordinatorLoadInProgressError(
                f"no producer ids can be taken from ZooKeeper now: {error}"
            ) from error
        log.info(
            "took the producer ids {start} to {end}", start=block.block_start, end=block.block_end
        )
        return range(block.block_start, block.block_end + 1)

    async def _take_next_block(self) -> ProducerIdBlock:
        while True:
            latest, version = await self._blocks.get_latest_producer_id_block()
            block = next_block(self._broker_id, latest)
            if await self._blocks.conditional_set_producer_id_block(block, version):
                return block


def next_block(broker_id: int, latest: ProducerIdBlock | None) -> ProducerIdBlock:
    """Return the block that follows the one taken last."""
    start = 0 if latest is None else latest.block_end + 1
    end = start + PRODUCER_ID_BLOCK_SIZE - 1
    if end > _LARGEST_ID:
        raise UnknownServerError(f"all producer ids are used up: the last block was {latest}")
    return ProducerIdBlock(broker_id, start, end)
