"""Topics are created, deleted and given more partitions (Kafka's ZkAdminManager and AdminZkClient).

Only the controller does this: it writes what is wanted to ZooKeeper, where the controller's own
watches see it, and waits until the metadata of this broker shows that it came true.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from kafkalike.cluster.metadata_cache import MetadataCache
from kafkalike.cluster.replica_placement import BrokerMetadata, assign_replicas_to_brokers
from kafkalike.config.api_version import api_version
from kafkalike.config.topic_config import validate_overrides
from kafkalike.model.broker import Broker
from kafkalike.model.replica_assignment import ReplicaAssignment
from kafkalike.model.topic import has_collision, has_collision_chars, why_invalid
from kafkalike.model.topic_partition import TopicPartition
from kafkalike.model.uuid import ZERO_UUID, random_uuid
from kafkalike.protocol.errors import (
    InvalidRequestError,
    InvalidTopicError,
    KafkaError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kafkalike.protocol.messages.create_partitions import CreatePartitionsTopic
from kafkalike.protocol.messages.create_topics import CreatableTopic
from kafkalike.server.api_error import NO_ERROR, TIMED_OUT, UNKNOWN_ERROR, ApiError
from kafkalike.server.config_entry import ConfigEntry, topic_entries
from kafkalike.server.dynamic_config import DynamicConfig
from kafkalike.server.metadata_waits import MetadataWaits
from kafkalike.server.mutation_quota import RecordMutations, no_limit
from kafkalike.server.policies import CreateTopicMetadata, create_topic_policy
from kafkalike.server.topic_assignment import (
    Assignment,
    check_added_partitions,
    check_fits_znode,
    check_growth,
    check_new_topic,
)
from kafkalike.utils.time import Time
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import NodeExistsError, ZkError
from kafkalike.zk.znodes.configs import ConfigType

log = Logger()

NO_NUM_PARTITIONS = -1
NO_REPLICATION_FACTOR = -1
_FIRST_WITH_TOPIC_IDS = api_version("2.8-IV0")
Outcome = TypeVar("Outcome")


class CreatedTopic(NamedTuple):
    """A topic that was created, or would be, or why not."""

    error: ApiError = NO_ERROR
    topic_id: bytes = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[ConfigEntry, ...] = ()

    def timed_out(self) -> "CreatedTopic":
        """The same topic, whose partitions have no leaders yet."""
        return CreatedTopic(TIMED_OUT, self.topic_id)


class TopicAdmin:
    """Carries out CreateTopics, DeleteTopics and CreatePartitions."""

    def __init__(
        self,
        dynamic_config: DynamicConfig,
        metadata_cache: MetadataCache,
        zk: KafkaZkClient,
        time: Time,
        random: Random,
    ) -> None:
        self._dynamic_config = dynamic_config
        self._metadata_cache = metadata_cache
        self._zk = zk
        self._random = random
        self._policy = create_topic_policy(dynamic_config.current)
        self.waits = MetadataWaits(metadata_cache, time)

    def metadata_changed(self, topics: Iterable[str]) -> None:
        """Let requests that wait for these topics look again."""
        self.waits.metadata_changed(topics)

    def shutdown(self) -> None:
        """Answer all requests that wait."""
        self.waits.shutdown()

    # --- create

    async def create_topics(
        self,
        topics: Iterable[CreatableTopic],
        timeout_ms: int,
        *,
        validate_only: bool,
        record: RecordMutations = no_limit,
    ) -> dict[str, CreatedTopic]:
        """Create topics and wait until all their partitions have leaders.

        `record` is told of partitions before they are written; it raises if they are too many.
        """
        created = {}
        for topic in topics:
            created[topic.name] = await _outcome(
                self._create_topic(topic, record, validate_only=validate_only),
                f"creating topic {topic.name}",
                CreatedTopic,
            )
        if not validate_only:
            counts = {name: t.num_partitions for name, t in created.items() if t.error.is_success}
            for name in await self.waits.for_leaders(counts, timeout_ms):
                created[name] = created[name].timed_out()
        return created

    async def _create_topic(
        self, topic: CreatableTopic, record: RecordMutations, *, validate_only: bool
    ) -> CreatedTopic:
        if topic.name in self._metadata_cache.snapshot.topics:
            raise _exists(topic.name)
        configs = _configs(topic)
        assignment = self._assignment(topic)
        await self._check_name(topic.name)
        check_new_topic(assignment)
        validate_overrides(configs)
        self._ask_policy(topic, assignment, configs)
        record(len(assignment))
        topic_id = ZERO_UUID
        if not validate_only:
            topic_id = await self._write_topic(topic.name, assignment, configs)
        current = self._dynamic_config.current
        return CreatedTopic(
            topic_id=topic_id,
            num_partitions=len(assignment),
            replication_factor=len(assignment[0]),
            configs=tuple(topic_entries(current, configs, self._dynamic_config.sources)),
        )

    def _assignment(self, topic: CreatableTopic) -> Assignment:
        partitions, factor = topic.num_partitions, topic.replication_factor
        if topic.assignments:
            if (partitions, factor) != (NO_NUM_PARTITIONS, NO_REPLICATION_FACTOR):
                raise InvalidRequestError(
                    "Both numPartitions or replicationFactor and replicasAssignments were set. "
                    "Both cannot be used at the same time."
                )
            return {one.partition_index: tuple(one.broker_ids) for one in topic.assignments}
        config = self._dynamic_config.current
        if partitions == NO_NUM_PARTITIONS:
            partitions = config.num_partitions
        if factor == NO_REPLICATION_FACTOR:
            factor = config.default_replication_factor
        check_fits_znode(partitions, factor)
        return assign_replicas_to_brokers(
            _placeable(self._metadata_cache.snapshot.brokers.values()),
            partitions,
            factor,
            self._random,
        )

    async def _check_name(self, topic: str) -> None:
        reason = why_invalid(topic)
        if reason is not None:
            raise InvalidTopicError(reason)
        if await self._zk.topic_exists(topic):
            raise _exists(topic)
        if has_collision_chars(topic):
            others = await self._zk.get_all_topics_in_cluster()
            if topic in others:
                raise _exists(topic)
            colliding = sorted(other for other in others if has_collision(topic, other))
            if colliding:
                raise InvalidTopicError(
                    f"Topic '{topic}' collides with existing topics: {', '.join(colliding)}"
                )

    def _ask_policy(
        self, topic: CreatableTopic, assignment: Assignment, configs: Mapping[str, str]
    ) -> None:
        if self._policy is None:
            return
        is_manual = bool(topic.assignments)
        self._policy.validate(
            CreateTopicMetadata(
                topic.name,
                None if is_manual else len(assignment),
                None if is_manual else len(assignment[0]),
                assignment if is_manual else None,
                configs,
            )
        )

    async def _write_topic(
        self, topic: str, assignment: Assignment, configs: Mapping[str, str]
    ) -> bytes:
        log.info(
            "creating topic {topic} with {configs} on {assignment}",
            topic=topic,
            configs=dict(configs),
            assignment=dict(assignment),
        )
        version = self._dynamic_config.current.inter_broker_api_version
        has_id = version >= _FIRST_WITH_TOPIC_IDS
        topic_id = random_uuid(self._random.randbytes) if has_id else None
        # The configs come first: the controller may react to the assignment at once.
        await self._zk.set_or_create_entity_configs(ConfigType.TOPIC, topic, configs)
        try:
            await self._zk.create_topic_assignment(
                topic, topic_id, {TopicPartition(topic, p): tuple(r) for p, r in assignment.items()}
            )
        except NodeExistsError:
            raise _exists(topic) from None
        return topic_id or ZERO_UUID

    # --- delete

    async def delete_topics(
        self, topics: Sequence[str], timeout_ms: int, record: RecordMutations = no_limit
    ) -> dict[str, ApiError]:
        """Delete topics and wait until they are gone."""
        errors = {}
        for topic in topics:
            attempt = self._delete_topic(topic, record)
            errors[topic] = await _outcome(attempt, f"deleting {topic}", _error)
        marked = [topic for topic, error in errors.items() if error.is_success]
        for topic in await self.waits.for_deletion(marked, timeout_ms):
            errors[topic] = TIMED_OUT
        return errors

    async def _delete_topic(self, topic: str, record: RecordMutations) -> ApiError:
        record(len(self._metadata_cache.snapshot.topics.get(topic, ())))
        if not await self._zk.topic_exists(topic):
            raise UnknownTopicOrPartitionError(f"Topic `{topic}` to delete does not exist")
        try:
            await self._zk.create_delete_topic_path(topic)
        except NodeExistsError:
            log.debug("{topic} is marked for deletion already", topic=topic)
        return NO_ERROR

    # --- more partitions

    async def create_partitions(
        self,
        topics: Iterable[CreatePartitionsTopic],
        timeout_ms: int,
        *,
        validate_only: bool,
        record: RecordMutations = no_limit,
    ) -> dict[str, ApiError]:
        """Add partitions to topics and wait until all have leaders."""
        errors, counts = {}, {}
        for topic in topics:
            errors[topic.name] = error = await _outcome(
                self._create_partitions(topic, record, validate_only=validate_only),
                f"adding partitions to {topic.name}",
                _error,
            )
            if error.is_success and not validate_only:
                counts[topic.name] = topic.count
        for name in await self.waits.for_leaders(counts, timeout_ms):
            errors[name] = TIMED_OUT
        return errors

    async def _create_partitions(
        self, topic: CreatePartitionsTopic, record: RecordMutations, *, validate_only: bool
    ) -> ApiError:
        name = topic.name
        brokers = await self._zk.get_all_brokers_in_cluster()
        (found,) = await self._zk.get_replica_assignment_and_topic_ids_for_topics([name])
        existing = {tp.partition: replicas for tp, replicas in found.assignment.items()}
        increment = check_growth(name, existing, topic.count)
        check_fits_znode(topic.count, len(existing[0].replicas))
        if topic.assignments is not None:
            wanted = [one.broker_ids for one in topic.assignments]
            ids = {broker.id for broker in brokers}
            added: Assignment = check_added_partitions(wanted, existing, increment, ids)
        else:
            added = self._place(existing, brokers, increment)
        record(len(added))
        if not validate_only:
            log.info("adding partitions {added} to {topic}", added=dict(added), topic=name)
            new = {p: ReplicaAssignment(tuple(replicas)) for p, replicas in added.items()}
            both = {TopicPartition(name, p): r for p, r in (existing | new).items()}
            await self._zk.set_topic_assignment(name, found.topic_id, both)
        return NO_ERROR

    def _place(
        self, existing: Mapping[int, ReplicaAssignment], brokers: Sequence[Broker], increment: int
    ) -> Assignment:
        """Go on where the existing partitions end, so that leaders stay spread evenly."""
        first = existing[0].replicas
        ids = [broker.id for broker in brokers]
        start = next((i for i, broker_id in enumerate(ids) if broker_id >= first[0]), 0)
        return assign_replicas_to_brokers(
            _placeable(brokers),
            increment,
            len(first),
            self._random,
            fixed_start_index=start,
            start_partition_id=len(existing),
        )


async def _outcome(
    attempt: Awaitable[Outcome], what: str, failed: Callable[[ApiError], Outcome]
) -> Outcome:
    """Carry out one part of a request; the others go on whatever comes of it."""
    try:
        return await attempt
    except KafkaError as error:
        log.info("{what} failed: {error}", what=what, error=error)
        return failed(ApiError.of(error))
    except ZkError as error:
        log.error("{what} failed: {error}", what=what, error=error)
        return failed(UNKNOWN_ERROR)
    except CancelledError:
        raise
    except Exception:  # noqa: BLE001 (our bug, or the policy's: the others of the request go on)
        log.failure("{what} failed", what=what)
        return failed(UNKNOWN_ERROR)


def _error(error: ApiError) -> ApiError:
    return error


def _placeable(brokers: Iterable[Broker]) -> list[BrokerMetadata]:
    return [BrokerMetadata(broker.id, broker.rack) for broker in brokers]


def _exists(topic: str) -> TopicExistsError:
    return TopicExistsError(f"Topic '{topic}' already exists.")


def _configs(topic: CreatableTopic) -> dict[str, str]:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        raise InvalidRequestError(f"Null value not supported for topic configs : {','.join(nulls)}")
    return {config.name: config.value for config in topic.configs if config.value is not None}
