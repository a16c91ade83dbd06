"""DescribeUserScramCredentials (50): mechanisms and iterations of users' credentials (KIP-554)."""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError
from kafkalike.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.scram_admin import Described


@api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions="0")
async def handle(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Tell what ZooKeeper has."""
    users = None if request.users is None else [user.name for user in request.users]
    described = await context.broker.security.scram_admin.describe(users)
    return DescribeUserScramCredentialsResponse(
        results=[_result(user, outcome) for user, outcome in described.items()]
    )


def _result(user: str, outcome: Described) -> DescribeUserScramCredentialsResult:
    if isinstance(outcome, KafkaError):
        return DescribeUserScramCredentialsResult(
            user=user, error_code=outcome.code, error_message=outcome.message
        )
    return DescribeUserScramCredentialsResult(
        user=user,
        credential_infos=[
            CredentialInfo(mechanism=info.mechanism.code, iterations=info.iterations)
            for info in outcome
        ],
    )
