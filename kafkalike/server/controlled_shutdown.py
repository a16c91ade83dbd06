"""A broker that stops first has its leaderships moved away (`controlled.shutdown.enable`)."""

from typing import cast

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectError, DNSLookupError
from twisted.logger import Logger

from kafkalike.protocol.errors import ErrorCode, KafkaError, ProtocolError
from kafkalike.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from kafkalike.server.controller_channel import ControllerChannel
from kafkalike.utils.time import Time

log = Logger()

_VERSION = 3
_NETWORK_ERRORS = (KafkaError, ProtocolError, ConnectError, DNSLookupError, OSError)


class ControlledShutdown:
    """Asks the controller until nothing is left to move, or the retries are used up."""

    def __init__(
        self, channel: ControllerChannel, time: Time, *, max_retries: int, backoff_ms: int
    ) -> None:
        self._channel = channel
        self._time = time
        self._max_retries = max_retries
        self._backoff_ms = backoff_ms
        self._is_hurried = False
        self._pause: Deferred[None] | None = None

    async def run(self, broker_id: int, broker_epoch: int) -> bool:
        """Hand over; True if this broker leads nothing any more that another could."""
        request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=broker_epoch)
        for _ in range(self._max_retries):
            if await self._ask(request):
                log.info("controlled shutdown succeeded")
                return True
            await self._back_off()
            if self._is_hurried:
                return False
        log.warn(
            "controlled shutdown did not succeed in {count} tries: stopping all the same",
            count=self._max_retries,
        )
        return False

    def hurry(self) -> None:
        """Give up: what still waits to be moved is left to the controller."""
        log.warn("controlled shutdown is cut short")
        self._is_hurried = True
        self._channel.close()
        if self._pause is not None:
            self._pause.cancel()

    async def _back_off(self) -> None:
        if self._is_hurried:
            return
        self._pause = self._time.sleep_ms(self._backoff_ms)
        try:
            await self._pause
        except CancelledError:
            if not self._is_hurried:
                raise
        finally:
            self._pause = None

    async def _ask(self, request: ControlledShutdownRequest) -> bool:
        try:
            answer = cast(ControlledShutdownResponse, await self._channel.send(request, _VERSION))
        except CancelledError:
            raise
        except _NETWORK_ERRORS as error:
            log.warn("controlled shutdown: {error}", error=error)
            return False
        if answer.error_code != ErrorCode.NONE:
            code = ErrorCode(answer.error_code).name
            log.info("controlled shutdown: the controller answers {code}", code=code)
            return False
        if answer.remaining_partitions:
            log.info("{count} partitions still to move", count=len(answer.remaining_partitions))
        return not answer.remaining_partitions
