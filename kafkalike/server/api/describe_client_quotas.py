"""DescribeClientQuotas (48): quotas of users, client ids and addresses (KIP-546).

v1 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import InvalidRequestError, KafkaError
from kafkalike.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.quota_admin import QuotaAdmin, Wanted

_EXACT, _DEFAULT, _SPECIFIED = range(3)


@api(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1")
async def handle(
    context: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    """Answer what ZooKeeper has."""
    try:
        components = [(one.entity_type, _wanted(one)) for one in request.components]
        found = await QuotaAdmin(context.broker.zk).describe(components, is_strict=request.strict)
    except KafkaError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    return DescribeClientQuotasResponse(
        entries=[
            EntryData(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                values=[ValueData(key=key, value=value) for key, value in quotas.items()],
            )
            for entity, quotas in found.items()
        ]
    )


def _wanted(component: ComponentData) -> Wanted:
    if component.match_type == _EXACT:
        return Wanted(False, component.match)
    if component.match_type == _DEFAULT:
        return Wanted(False, None)
    if component.match_type == _SPECIFIED:
        return Wanted(True)
    raise InvalidRequestError(f"Unexpected match type: {component.match_type}")
