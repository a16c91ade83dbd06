"""AlterUserScramCredentials (51): credentials are set and deleted, by the controller (KIP-554)."""

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import KafkaError, NotControllerError
from kafkalike.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api


@api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions="0")
async def handle(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Write what the client has stretched; no password comes here."""
    broker = context.broker
    if not broker.controller.is_active:
        names = [u.name for u in request.upsertions] + [d.name for d in request.deletions]
        outcome: dict[str, KafkaError | None] = dict.fromkeys(names, NotControllerError())
    else:
        outcome = await broker.security.scram_admin.alter(request.upsertions, request.deletions)
    return AlterUserScramCredentialsResponse(
        results=[_result(user, problem) for user, problem in outcome.items()]
    )


def _result(user: str, problem: KafkaError | None) -> AlterUserScramCredentialsResult:
    if problem is None:
        return AlterUserScramCredentialsResult(user=user)
    return AlterUserScramCredentialsResult(
        user=user, error_code=problem.code, error_message=problem.message
    )
