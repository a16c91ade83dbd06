"""Static members (KIP-345) are known since protocol 2.3."""

from typing import Final

from kafkalike.config.api_version import api_version
from kafkalike.server.api.context import RequestContext

_FIRST: Final = api_version("2.3-IV0")


def are_static_members_supported(context: RequestContext, group_instance_id: str | None) -> bool:
    """Whether this member can be coordinated; one without group.instance.id always can.

    A coordinator that is older would drop the instance id, and take the member for a new one.
    """
    return group_instance_id is None or context.broker.config.inter_broker_api_version >= _FIRST
