"""Opens connections to brokers as their listener wants it: plain, TLS, SASL or both."""

from functools import partial
from typing import Any

from kafkalike.network.broker_channel import BrokerChannel
from kafkalike.network.sasl_client_authenticator import SaslClientAuthenticator
from kafkalike.network.sasl_session import SaslClientSession
from kafkalike.network.tls_client import TlsClient
from kafkalike.protocol.schema import Message
from kafkalike.security.sasl.mechanism import SaslLogin
from kafkalike.utils.blocking import RunBlocking, run_blocking_on
from kafkalike.utils.time import Time


class ChannelBuilder:
    """Made once per client or broker; `connect` gives a channel that is ready for requests."""

    def __init__(
        self,
        reactor: Any,  # no one reactor interface has it all
        time: Time,
        *,
        tls: TlsClient | None = None,
        login: SaslLogin | None = None,
        run_blocking: RunBlocking | None = None,
    ) -> None:
        self._reactor = reactor
        self._time = time
        self._run_blocking = run_blocking or run_blocking_on(reactor)
        self.tls = tls
        self.login = login

    async def connect(
        self, host: str, port: int, client_id: str | None, timeout_ms: int
    ) -> BrokerChannel:
        """Connect and authenticate.

        Raises Twisted's ConnectError where nobody listens, and a `KafkaError` where one side does
        not convince the other.
        """
        tls, login = self.tls, self.login
        wrap = None if tls is None else partial(tls.wrap, host=host)
        channel = await BrokerChannel.connect(
            self._reactor, self._time, host, port, client_id, timeout_ms, wrap
        )
        if tls is None and login is None:
            return channel
        deadline = self._time.call_later_ms(
            timeout_ms, channel.close, f"not authenticated within {timeout_ms} ms"
        )
        try:
            if tls is not None:
                await channel.until_secured()
            if login is not None:
                await self._authenticate(channel, login, timeout_ms)
        except BaseException:
            channel.close("authentication failed")
            raise
        finally:
            if deadline.active():
                deadline.cancel()
        return channel

    async def _authenticate(
        self, channel: BrokerChannel, login: SaslLogin, timeout_ms: int
    ) -> None:
        async def send(request: Message, version: int) -> Any:
            return await channel.begin_now(request, version, timeout_ms)

        authenticator = SaslClientAuthenticator(login, send, self._run_blocking)
        lifetime_ms = await authenticator.authenticate()
        if lifetime_ms:
            channel.waiting_room = SaslClientSession(
                channel, authenticator, self._time, lifetime_ms
            )
