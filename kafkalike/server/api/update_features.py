"""UpdateFeatures (57): finalize versions of cluster-wide features (KIP-584)."""

from kafkalike.config.api_version import api_version
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode, KafkaError
from kafkalike.protocol.messages.update_features import (
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import api
from kafkalike.server.api_error import NO_ERROR, ApiError

_FIRST_WITH_FEATURES = api_version("2.7-IV0")


@api(ApiKey.UPDATE_FEATURES, versions="0")
async def handle(context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """Let the controller change features; each has its own answer."""
    broker = context.broker
    if not broker.controller.is_active:
        return UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER)
    if broker.config.inter_broker_api_version < _FIRST_WITH_FEATURES:
        return UpdateFeaturesResponse(
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="Feature versioning system is disabled.",
        )
    try:
        outcome = await broker.controller.update_features(request)
    except KafkaError as error:
        top = ApiError.of(error)
        return UpdateFeaturesResponse(error_code=top.code, error_message=top.message)
    return UpdateFeaturesResponse(
        results=[_result(feature, problem) for feature, problem in outcome.items()]
    )


def _result(feature: str, problem: KafkaError | None) -> UpdatableFeatureResult:
    error = NO_ERROR if problem is None else ApiError.of(problem)
    return UpdatableFeatureResult(
        feature=feature, error_code=error.code, error_message=error.message
    )
