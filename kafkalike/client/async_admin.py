"""KafkaAdminClient for programs on Twisted: coroutines on the program's own reactor."""

from types import TracebackType
from typing import Any, Self

from kafkalike.client.admin.admin_client import Admin
from kafkalike.client.config import ClientConfig, make_config


class KafkaAdminClient(Admin):
    """Manages topics, configs, groups and more."""

    def __init__(self, *, reactor: Any, **configs: Any) -> None:
        super().__init__(reactor, make_config(ClientConfig, configs))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
