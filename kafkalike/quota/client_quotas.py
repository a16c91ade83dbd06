"""Which quota holds for a client: of its user, its client id, both, or a default.

Kafka's `ClientQuotaCallback` as a plug-in point (`client.quota.callback.class`), and the callback
that is in use without one: the quotas of ZooKeeper. Names are sanitized, as they are there.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kafkalike.quota.quota_type import QuotaType

DEFAULT = "<default>"
"""The entity that stands for all users, or client ids, without quotas of their own."""


class QuotaEntity(NamedTuple):
    """Whose quota it is: a user, a client id, or a client id of a user."""

    user: str | None
    client_id: str | None


class ClientQuotaCallback(Protocol):
    """Decides which clients share a quota, and how large it is."""

    def quota_metric_tags(
        self, quota_type: QuotaType, user: str, client_id: str
    ) -> Mapping[str, str]:
        """Give the tags of a client; all clients with the same tags share one quota."""

    def quota_limit(self, quota_type: QuotaType, metric_tags: Mapping[str, str]) -> float | None:
        """Give the quota of those with these tags; None for no limit."""

    def update_quota(self, quota_type: QuotaType, entity: QuotaEntity, value: float) -> None:
        """Take over a quota from ZooKeeper."""

    def remove_quota(self, quota_type: QuotaType, entity: QuotaEntity) -> None:
        """Forget a quota."""


class DefaultQuotaCallback:
    """The quotas of ZooKeeper, in Kafka's order of precedence."""

    def __init__(self, static_defaults: Mapping[QuotaType, float]) -> None:
        self._static = static_defaults
        self._quotas: dict[tuple[QuotaType, QuotaEntity], float] = {}

    def quota_metric_tags(
        self, quota_type: QuotaType, user: str, client_id: str
    ) -> Mapping[str, str]:
        """Find the most special quota; who has only that of a user shares it with its clients."""
        for entity, has_user, has_client in (
            (QuotaEntity(user, client_id), True, True),
            (QuotaEntity(user, DEFAULT), True, True),
            (QuotaEntity(user, None), True, False),
            (QuotaEntity(DEFAULT, client_id), True, True),
            (QuotaEntity(DEFAULT, DEFAULT), True, True),
            (QuotaEntity(DEFAULT, None), True, False),
        ):
            if (quota_type, entity) in self._quotas:
                return {
                    "user": user if has_user else "",
                    "client-id": client_id if has_client else "",
                }
        return {"user": "", "client-id": client_id}

    def quota_limit(self, quota_type: QuotaType, metric_tags: Mapping[str, str]) -> float | None:
        """Give the quota of a user, a client id, or both."""
        user, client_id = metric_tags["user"], metric_tags["client-id"]
        if user and client_id:
            entities = [
                QuotaEntity(user, client_id),
                QuotaEntity(user, DEFAULT),
                QuotaEntity(DEFAULT, client_id),
                QuotaEntity(DEFAULT, DEFAULT),
            ]
        elif user:
            entities = [QuotaEntity(user, None), QuotaEntity(DEFAULT, None)]
        else:
            entities = [QuotaEntity(None, client_id), QuotaEntity(None, DEFAULT)]
        for entity in entities:
            quota = self._quotas.get((quota_type, entity))
            if quota is not None:
                return quota
        return None if user else self._static.get(quota_type)

    def update_quota(self, quota_type: QuotaType, entity: QuotaEntity, value: float) -> None:
        """Take over a quota."""
        self._quotas[quota_type, entity] = value

    def remove_quota(self, quota_type: QuotaType, entity: QuotaEntity) -> None:
        """Forget a quota."""
        self._quotas.pop((quota_type, entity), None)
