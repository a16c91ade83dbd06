"""AlterClientQuotas (49): quotas of users, client ids and addresses are set or removed (KIP-546).

v1 flexible
"""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.quota_admin import QuotaAdmin


@api(ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1")
async def handle(
    context: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    """Write to ZooKeeper what is asked for, and answer for each entity."""
    asked = [
        (
            tuple((one.entity_type, one.entity_name) for one in entry.entity),
            {op.key: None if op.remove else op.value for op in entry.ops},
        )
        for entry in request.entries
    ]
    errors = await QuotaAdmin(context.broker.zk).alter(asked, validate_only=request.validate_only)
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponseEntryData(
                error_code=error.code, error_message=error.message, entity=entry.entity
            )
            for entry, error in zip(request.entries, errors, strict=True)
        ]
    )
