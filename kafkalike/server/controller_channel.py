"""The way from this broker to the controller, whoever that is at the moment."""

from collections.abc import Callable

from kafkalike.controller.channel_manager import BrokerSender
from kafkalike.model.broker import Broker
from kafkalike.protocol.errors import NotControllerError
from kafkalike.protocol.schema import Message


class ControllerChannel:
    """Sends to the controller that the metadata names; a failed request leaves it closed."""

    def __init__(
        self,
        controller: Callable[[], Broker | None],
        connect: Callable[[Broker], BrokerSender],
    ) -> None:
        self._controller = controller
        self._connect = connect
        self._sender: BrokerSender | None = None
        self._broker: Broker | None = None

    async def send(self, request: Message, version: int) -> Message:
        """Send a request to the controller and give its answer."""
        broker = self._controller()
        if broker is None:
            raise NotControllerError("no controller is known")
        if self._sender is None or broker != self._broker:
            self.close()
            self._sender, self._broker = self._connect(broker), broker
        try:
            return await self._sender.send(request, version)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._sender is not None:
            self._sender.close()
            self._sender = None
