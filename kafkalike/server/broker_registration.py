"""Registering this broker in ZooKeeper, and what to do if its place is taken."""

from twisted.logger import Logger

from kafkalike.model.broker import Broker, EndPoint
from kafkalike.server.errors import StartupError
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import EphemeralHeldError, ZkDataError
from kafkalike.zk.znodes import BrokerIdZNode, BrokerInfo

log = Logger()

_RETRY_MS = 200


class BrokerIdTakenError(StartupError):
    """Another broker with the same id is registered."""


class BrokerRegistration:
    """Creates `/brokers/ids/<id>`; its creation's zxid is the broker epoch.

    Who holds the place already is another broker if it advertises other end points than ours: our
    own are bound by us, so a registration with them is left over from a former run of this broker
    and goes with its session.
    """

    def __init__(
        self, zk: KafkaZkClient, time: Time, broker: Broker, session_timeout_ms: int
    ) -> None:
        self._zk = zk
        self._time = time
        self._broker = broker
        self._session_timeout_ms = session_timeout_ms

    async def register(self) -> int:
        """Register and return the broker epoch, having waited for a former self if need be."""
        deadline_ms = self._time.now_ms() + 2 * self._session_timeout_ms
        is_told = False
        while True:
            info = BrokerInfo(self._broker, timestamp_ms=self._time.now_ms())
            try:
                return await self._zk.register_broker(info)
            except EphemeralHeldError as held:
                self._check_holder(held, deadline_ms)
                if not is_told:
                    is_told = True
                    log.warn(
                        "broker {id} is still registered by session 0x{session:x} of its former "
                        "run: waiting up to {timeout} ms for it to end",
                        id=self._broker.id,
                        session=held.owner_session_id,
                        timeout=self._session_timeout_ms,
                    )
                await self._time.sleep_ms(_RETRY_MS)

    def _check_holder(self, held: EphemeralHeldError, deadline_ms: int) -> None:
        holder = _holder(self._broker.id, held)
        if holder != self._broker.end_points or self._time.now_ms() > deadline_ms:
            addresses = ",".join(e.connection_string for e in holder) or "unreadable end points"
            raise BrokerIdTakenError(
                f"broker.id {self._broker.id} is taken: {held.path} is held by ZooKeeper session "
                f"0x{held.owner_session_id:x} of a broker at {addresses}. Stop that broker, or "
                "give this one another broker.id."
            )


def _holder(broker_id: int, held: EphemeralHeldError) -> tuple[EndPoint, ...]:
    try:
        return BrokerIdZNode.decode(broker_id, held.data).broker.end_points
    except ZkDataError:
        return ()
