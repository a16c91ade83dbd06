"""ApiVersions (18): which APIs this broker has, in which versions.

v1 throttle time · v3 flexible, client software name and version, features (KIP-511, KIP-584)
A version that the broker does not have is answered in v0 with error 35 and only this API listed.
"""

import re

from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.errors import ErrorCode
from kafkalike.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
)
from kafkalike.server.api.context import RequestContext
from kafkalike.server.api.registry import APIS, api
from kafkalike.server.finalized_features import FinalizedFeatureCache

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
_FIRST_VERSION_WITH_SOFTWARE_NAME = 3


@api(ApiKey.API_VERSIONS, versions="0-3")
async def handle(context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """Answer what the registry has."""
    return answer(context.api_version, request, context.broker.finalized_features)


def answer(
    version: int, request: ApiVersionsRequest, features: FinalizedFeatureCache
) -> ApiVersionsResponse:
    """Answer a client, also one that has not said yet who it is."""
    if version not in APIS[ApiKey.API_VERSIONS].versions:
        return ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            api_keys=[_row(ApiKey.API_VERSIONS)],
        )
    if version >= _FIRST_VERSION_WITH_SOFTWARE_NAME and not (
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    ):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    return ApiVersionsResponse(
        api_keys=[_row(key) for key in sorted(APIS)],
        finalized_features_epoch=features.epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, min_version_level=low, max_version_level=high)
            for name, (low, high) in features.features.items()
        ],
    )


def _row(key: int) -> ApiVersion:
    versions = APIS[key].versions
    return ApiVersion(api_key=key, min_version=versions.start, max_version=versions.stop - 1)
