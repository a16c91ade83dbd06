"""The cluster itself: brokers, versions, features."""

from collections.abc import Mapping
from typing import Any

from kafkalike.client.admin.admin_base import AdminBase, as_dict, check
from kafkalike.protocol.api_keys import ApiKey
from kafkalike.protocol.messages.api_versions import ApiVersionsRequest
from kafkalike.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkalike.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


class ClusterAdmin(AdminBase):
    """What can be asked of the cluster."""

    async def describe_cluster(self) -> dict[str, Any]:
        """Return cluster id, controller and brokers."""
        request = DescribeClusterRequest(include_cluster_authorized_operations=False)
        answer = await self.ask_any(request)
        check(answer.error_code, "describing the cluster", answer.error_message)
        return as_dict(answer)

    async def api_versions(self, broker_id: int | None = None) -> dict[str, tuple[int, int]]:
        """Return the lowest and highest version of every API that a broker has."""
        answer = await self._api_versions(broker_id)
        names = {int(key): key.api_name for key in ApiKey}
        return {
            names.get(key.api_key, str(key.api_key)): (key.min_version, key.max_version)
            for key in answer.api_keys
        }

    async def describe_features(self) -> dict[str, Any]:
        """Return the features that brokers support and those that are finalized."""
        answer = await self._api_versions(None)
        return {
            "supported_features": [as_dict(feature) for feature in answer.supported_features],
            "finalized_features_epoch": answer.finalized_features_epoch,
            "finalized_features": [as_dict(feature) for feature in answer.finalized_features],
        }

    async def update_features(
        self, feature_updates: Mapping[str, tuple[int, bool]], timeout_ms: int = 60_000
    ) -> dict[str, str]:
        """Finalize features: `{name: (highest version, whether it may go down)}`."""
        request = UpdateFeaturesRequest(
            timeout_ms=timeout_ms,
            feature_updates=[
                FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=downgrade)
                for name, (level, downgrade) in feature_updates.items()
            ],
        )
        answer = await self.ask_controller(request)
        check(answer.error_code, "updating features", answer.error_message)
        for result in answer.results:
            check(result.error_code, f"updating feature {result.feature}", result.error_message)
        return {result.feature: "OK" for result in answer.results}

    async def _api_versions(self, broker_id: int | None) -> Any:
        request = ApiVersionsRequest(client_software_name="kafkalike", client_software_version="0")
        if broker_id is None:
            return await self.ask_any(request)
        return await self.ask_broker(broker_id, request)
