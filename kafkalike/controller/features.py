"""Feature versions (KIP-584): `/feature`, which brokers meet them, and how they are changed.

Kafka 2.8 has the machinery and no feature that uses it; neither have we.
"""

from collections.abc import Mapping

from twisted.logger import Logger

from kafkalike.controller.parts import ControllerParts
from kafkalike.model.broker import Broker
from kafkalike.protocol.errors import (
    FeatureUpdateFailedError,
    InvalidRequestError,
    KafkaError,
)
from kafkalike.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkalike.zk.errors import NodeExistsError, ZkError
from kafkalike.zk.znodes import FeatureStatus, FinalizedFeatures

log = Logger()

VersionRange = tuple[int, int]


def is_met(supported: Mapping[str, VersionRange], finalized: Mapping[str, VersionRange]) -> bool:
    """Whether a broker supports every level of every feature that is final."""
    return all(
        name in supported and supported[name][0] <= low and high <= supported[name][1]
        for name, (low, high) in finalized.items()
    )


class FeatureVersions:
    """The finalized features as the controller last read or wrote them."""

    def __init__(self, parts: ControllerParts, supported: Mapping[str, VersionRange]) -> None:
        self._parts = parts
        self._supported = supported
        self._finalized: dict[str, VersionRange] = {}

    def are_met_by(self, broker: Broker) -> bool:
        """Whether a broker may take part in the cluster."""
        return is_met(broker.features, self._finalized)

    async def set_up(self) -> None:
        """Write `/feature` as `inter.broker.protocol.version` calls for: on from 2.7, else off."""
        is_enabled = self._parts.is_feature_versioning_supported
        status = FeatureStatus.ENABLED if is_enabled else FeatureStatus.DISABLED
        existing = await self._get_or_create(status)
        is_kept = is_enabled and existing.status is FeatureStatus.ENABLED
        wanted = FinalizedFeatures(status, dict(existing.features) if is_kept else {})
        if wanted != existing:
            await self._parts.zk.update_feature_znode(wanted)
        self._finalized = dict(wanted.features)

    async def _get_or_create(self, status: FeatureStatus) -> FinalizedFeatures:
        """Read the features, in a new cluster after writing what this broker supports."""
        while True:
            existing, _ = await self._parts.zk.get_features()
            if existing is not None:
                return existing
            initial = dict(self._supported) if status is FeatureStatus.ENABLED else {}
            try:
                await self._parts.zk.create_feature_znode(FinalizedFeatures(status, initial))
            except NodeExistsError:
                log.debug("the features were written meanwhile")  # perhaps by ourselves

    async def update(self, request: UpdateFeaturesRequest) -> dict[str, KafkaError | None]:
        """Change finalized features, each that can be changed; for each what was wrong, or None."""
        target = dict(self._finalized)
        outcome: dict[str, KafkaError | None] = {}
        for update in request.feature_updates:
            try:
                new = self._validate(update)
            except InvalidRequestError as error:
                outcome[update.feature] = error
                continue
            outcome[update.feature] = None
            if new is None:
                target.pop(update.feature, None)
            else:
                target[update.feature] = new
        if target != self._finalized:
            outcome = await self._write(target, outcome)
        return outcome

    async def _write(
        self, target: dict[str, VersionRange], outcome: dict[str, KafkaError | None]
    ) -> dict[str, KafkaError | None]:
        try:
            await self._parts.zk.update_feature_znode(
                FinalizedFeatures(FeatureStatus.ENABLED, target)
            )
        except ZkError as error:
            failed = FeatureUpdateFailedError(str(error))
            return {name: wrong or failed for name, wrong in outcome.items()}
        self._finalized = target
        return outcome

    def _validate(self, update: FeatureUpdateKey) -> VersionRange | None:
        """Give a feature's new levels, None to delete it, or raise InvalidRequestError."""
        if not update.feature:
            raise InvalidRequestError("Feature name can not be empty.")
        existing = self._finalized.get(update.feature)
        level = update.max_version_level
        if level < 1:
            if not update.allow_downgrade:
                raise InvalidRequestError(
                    f"Can not provide maxVersionLevel: {level} less than 1 without setting the "
                    "allowDowngrade flag to true in the request."
                )
            if existing is None:
                raise InvalidRequestError("Can not delete non-existing finalized feature.")
            return None
        if existing is not None:
            _check_step(existing, level, update.allow_downgrade)
        return self._new_range(update.feature, level)

    def _new_range(self, feature: str, level: int) -> VersionRange:
        supported = self._supported.get(feature)
        prefix = "Could not apply finalized feature update because"
        if supported is None:
            raise InvalidRequestError(f"{prefix} the provided feature is not supported.")
        if level < supported[0]:
            raise InvalidRequestError(
                f"{prefix} the provided maxVersionLevel:{level} is lower than the supported "
                f"minVersion:{supported[0]}."
            )
        new = (supported[0], level)
        brokers = self._parts.context.live_or_shutting_down_brokers
        if not all(is_met(broker.features, {feature: new}) for broker in brokers):
            raise InvalidRequestError(
                f"{prefix} brokers were found to have incompatible versions for the feature."
            )
        return new


def _check_step(existing: VersionRange, level: int, is_downgrade_allowed: bool) -> None:
    low, high = existing
    if level == high:
        step = "downgrade" if is_downgrade_allowed else "upgrade"
        raise InvalidRequestError(
            f"Can not {step} a finalized feature from existing maxVersionLevel:{high} to the same "
            "value."
        )
    if level < high and not is_downgrade_allowed:
        raise InvalidRequestError(
            f"Can not downgrade finalized feature from existing maxVersionLevel:{high} to provided "
            f"maxVersionLevel:{level} without setting the allowDowngrade flag in the request."
        )
    if level > high and is_downgrade_allowed:
        raise InvalidRequestError(
            "When the allowDowngrade flag set in the request, the provided "
            f"maxVersionLevel:{level} can not be greater than existing maxVersionLevel:{high}."
        )
    if level < low:
        raise InvalidRequestError(
            f"Can not downgrade finalized feature to maxVersionLevel:{level} because it's lower "
            f"than the existing minVersionLevel:{low}."
        )
