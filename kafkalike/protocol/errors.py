"""The errors of the Kafka protocol: one class per error code, and the error for malformed bytes.

`KafkaError` is what the broker raises and answers with its code; its subclasses have the names of
Kafka's exceptions (`OffsetOutOfRangeException` is `OffsetOutOfRangeError`; `TimeoutException` is
`RequestTimedOutError`, for Python has a `TimeoutError` of its own). `ProtocolError` means that the
peer sent bytes that are no message: it has no code, the connection is closed.
"""

from typing import ClassVar

from kafkalike.protocol.error_code import ErrorCode as ErrorCode


class ProtocolError(Exception):
    """The peer sent bytes that are not what the protocol says."""


class KafkaError(Exception):
    """An error that is answered with its code.

    `message` is the text given, or else the sentence that describes the class. Where a broker said
    no (`is_answer`), `reason` is its own text, if any, without what a client put around it.
    """

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    retriable: ClassVar[bool] = False
    is_answer: bool = False
    reason: str | None = None

    def __init_subclass__(cls, *, code: ErrorCode | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code
            _CLASSES[code] = cls

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.message = message or (type(self).__doc__ or "").partition("\n")[0]

    def __str__(self) -> str:
        return self.message


class RetriableError(KafkaError):
    """An error that may pass by itself: the same request can be sent again."""

    retriable = True


_CLASSES: dict[int, type[KafkaError]] = {}


def error_for(code: int) -> type[KafkaError]:
    """Return the class for an error code; a code that Kafka 2.8 has not is an `UnknownServerError`.

    `ErrorCode.NONE` has no class: asking for it is a mistake of the caller.
    """
    if code == ErrorCode.NONE:
        raise ValueError("error code 0 (NONE) is not an error")
    return _CLASSES.get(code, UnknownServerError)


class UnknownServerError(KafkaError, code=ErrorCode.UNKNOWN_SERVER_ERROR):
    """The broker met an error it did not expect."""


class OffsetOutOfRangeError(KafkaError, code=ErrorCode.OFFSET_OUT_OF_RANGE):
    """The offset is outside the range that the broker holds for the partition."""


class CorruptRecordError(RetriableError, code=ErrorCode.CORRUPT_MESSAGE):
    """A record failed its checksum, has no key where one is needed, or is otherwise corrupt."""


class UnknownTopicOrPartitionError(RetriableError, code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
    """This broker does not host that topic or partition."""


class InvalidFetchSizeError(KafkaError, code=ErrorCode.INVALID_FETCH_SIZE):
    """The fetch size is not valid."""


class LeaderNotAvailableError(RetriableError, code=ErrorCode.LEADER_NOT_AVAILABLE):
    """The partition has no leader at the moment: an election is under way."""


class NotLeaderOrFollowerError(RetriableError, code=ErrorCode.NOT_LEADER_OR_FOLLOWER):
    """This broker is not the leader, or for a fetch not a replica, of the partition."""


class RequestTimedOutError(RetriableError, code=ErrorCode.REQUEST_TIMED_OUT):
    """The request was not completed within its time limit."""


class BrokerNotAvailableError(KafkaError, code=ErrorCode.BROKER_NOT_AVAILABLE):
    """The broker is not available."""


class ReplicaNotAvailableError(RetriableError, code=ErrorCode.REPLICA_NOT_AVAILABLE):
    """The replica is not available for the partition."""


class RecordTooLargeError(KafkaError, code=ErrorCode.MESSAGE_TOO_LARGE):
    """The record is larger than the broker accepts."""


class ControllerMovedError(KafkaError, code=ErrorCode.STALE_CONTROLLER_EPOCH):
    """A controller with a newer epoch has taken over."""


class OffsetMetadataTooLargeError(KafkaError, code=ErrorCode.OFFSET_METADATA_TOO_LARGE):
    """The metadata string of the committed offset is too long."""


class NetworkError(RetriableError, code=ErrorCode.NETWORK_EXCEPTION):
    """The connection was lost before an answer came."""


class CoordinatorLoadInProgressError(RetriableError, code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
    """The coordinator is still loading its log."""


class CoordinatorNotAvailableError(RetriableError, code=ErrorCode.COORDINATOR_NOT_AVAILABLE):
    """The coordinator is not available."""


class NotCoordinatorError(RetriableError, code=ErrorCode.NOT_COORDINATOR):
    """This broker is not the coordinator of that group or transactional id."""


class InvalidTopicError(KafkaError, code=ErrorCode.INVALID_TOPIC_EXCEPTION):
    """The topic name is not allowed for this operation."""


class RecordBatchTooLargeError(KafkaError, code=ErrorCode.RECORD_LIST_TOO_LARGE):
    """The record batch is larger than a segment of the log."""


class NotEnoughReplicasError(RetriableError, code=ErrorCode.NOT_ENOUGH_REPLICAS):
    """Fewer replicas are in sync than min.insync.replicas asks for."""


class NotEnoughReplicasAfterAppendError(
    RetriableError, code=ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
):
    """The records were written, but to fewer in-sync replicas than required."""


class InvalidRequiredAcksError(KafkaError, code=ErrorCode.INVALID_REQUIRED_ACKS):
    """The acks value of the produce request is not one of -1, 0, 1."""


class IllegalGenerationError(KafkaError, code=ErrorCode.ILLEGAL_GENERATION):
    """The generation id is not the group's current one."""


class InconsistentGroupProtocolError(KafkaError, code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL):
    """The member's protocols have nothing in common with those of the group."""


class InvalidGroupIdError(KafkaError, code=ErrorCode.INVALID_GROUP_ID):
    """The group id is not valid."""


class UnknownMemberIdError(KafkaError, code=ErrorCode.UNKNOWN_MEMBER_ID):
    """The coordinator does not know that member."""


class InvalidSessionTimeoutError(KafkaError, code=ErrorCode.INVALID_SESSION_TIMEOUT):
    """The session timeout is outside the range that the broker allows."""


class RebalanceInProgressError(KafkaError, code=ErrorCode.REBALANCE_IN_PROGRESS):
    """The group is rebalancing: the member has to join again."""


class InvalidCommitOffsetSizeError(KafkaError, code=ErrorCode.INVALID_COMMIT_OFFSET_SIZE):
    """The offset commit is larger than the broker accepts."""


class TopicAuthorizationError(KafkaError, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED):
    """The principal may not do this with the topic."""


class GroupAuthorizationError(KafkaError, code=ErrorCode.GROUP_AUTHORIZATION_FAILED):
    """The principal may not do this with the group."""


class ClusterAuthorizationError(KafkaError, code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
    """The principal may not do this with the cluster."""


class InvalidTimestampError(KafkaError, code=ErrorCode.INVALID_TIMESTAMP):
    """The timestamp of the record is out of the allowed range."""


class UnsupportedSaslMechanismError(KafkaError, code=ErrorCode.UNSUPPORTED_SASL_MECHANISM):
    """The broker does not offer that SASL mechanism."""


class IllegalSaslStateError(KafkaError, code=ErrorCode.ILLEGAL_SASL_STATE):
    """The request does not fit the state of the SASL exchange."""


class UnsupportedVersionError(KafkaError, code=ErrorCode.UNSUPPORTED_VERSION):
    """The broker does not support that version of the API."""


class TopicExistsError(KafkaError, code=ErrorCode.TOPIC_ALREADY_EXISTS):
    """A topic with this name exists already."""


class InvalidPartitionsError(KafkaError, code=ErrorCode.INVALID_PARTITIONS):
    """The number of partitions is not valid."""


class InvalidReplicationFactorError(KafkaError, code=ErrorCode.INVALID_REPLICATION_FACTOR):
    """The replication factor is below 1 or above the number of live brokers."""


class InvalidReplicaAssignmentError(KafkaError, code=ErrorCode.INVALID_REPLICA_ASSIGNMENT):
    """The replica assignment is not valid."""


class InvalidConfigurationError(KafkaError, code=ErrorCode.INVALID_CONFIG):
    """The configuration is not valid."""


class NotControllerError(RetriableError, code=ErrorCode.NOT_CONTROLLER):
    """This broker is not the controller."""


class InvalidRequestError(KafkaError, code=ErrorCode.INVALID_REQUEST):
    """The request is well-formed but makes no sense to this API."""


class UnsupportedForMessageFormatError(KafkaError, code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT):
    """The message format of the topic's log cannot serve this request."""


class PolicyViolationError(KafkaError, code=ErrorCode.POLICY_VIOLATION):
    """A policy of the broker refuses the request."""


class OutOfOrderSequenceError(KafkaError, code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
    """The producer's sequence number does not follow the last one."""


class DuplicateSequenceError(KafkaError, code=ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
    """The producer's sequence number was seen before."""


class InvalidProducerEpochError(KafkaError, code=ErrorCode.INVALID_PRODUCER_EPOCH):
    """The producer's epoch is older than the last one seen."""


class InvalidTxnStateError(KafkaError, code=ErrorCode.INVALID_TXN_STATE):
    """The operation does not fit the state of the transaction."""


class InvalidPidMappingError(KafkaError, code=ErrorCode.INVALID_PRODUCER_ID_MAPPING):
    """The producer id does not belong to that transactional id."""


class InvalidTxnTimeoutError(KafkaError, code=ErrorCode.INVALID_TRANSACTION_TIMEOUT):
    """The transaction timeout is longer than the broker allows."""


class ConcurrentTransactionsError(KafkaError, code=ErrorCode.CONCURRENT_TRANSACTIONS):
    """Another operation on the same transaction is still under way."""


class TransactionCoordinatorFencedError(KafkaError, code=ErrorCode.TRANSACTION_COORDINATOR_FENCED):
    """A newer transaction coordinator has fenced this one."""


class TransactionalIdAuthorizationError(
    KafkaError, code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
):
    """The principal may not use that transactional id."""


class SecurityDisabledError(KafkaError, code=ErrorCode.SECURITY_DISABLED):
    """The security feature is switched off."""


class OperationNotAttemptedError(KafkaError, code=ErrorCode.OPERATION_NOT_ATTEMPTED):
    """The operation was not tried because another in the same request failed."""


class KafkaStorageError(RetriableError, code=ErrorCode.KAFKA_STORAGE_ERROR):
    """The disk failed when the log was read or written."""


class LogDirNotFoundError(KafkaError, code=ErrorCode.LOG_DIR_NOT_FOUND):
    """The log directory is not in the broker's configuration."""


class SaslAuthenticationError(KafkaError, code=ErrorCode.SASL_AUTHENTICATION_FAILED):
    """SASL authentication failed."""


class UnknownProducerIdError(KafkaError, code=ErrorCode.UNKNOWN_PRODUCER_ID):
    """The broker holds no state for that producer id."""


class ReassignmentInProgressError(KafkaError, code=ErrorCode.REASSIGNMENT_IN_PROGRESS):
    """A reassignment of the partition is in progress."""


class DelegationTokenDisabledError(KafkaError, code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED):
    """Delegation tokens are not enabled."""


class DelegationTokenNotFoundError(KafkaError, code=ErrorCode.DELEGATION_TOKEN_NOT_FOUND):
    """The delegation token does not exist."""


class DelegationTokenOwnerMismatchError(KafkaError, code=ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH):
    """The delegation token belongs to another principal."""


class UnsupportedByAuthenticationError(
    KafkaError, code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
):
    """Delegation token requests are refused on this kind of connection."""


class DelegationTokenAuthorizationError(
    KafkaError, code=ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
):
    """The principal may not do this with the delegation token."""


class DelegationTokenExpiredError(KafkaError, code=ErrorCode.DELEGATION_TOKEN_EXPIRED):
    """The delegation token has expired."""


class InvalidPrincipalTypeError(KafkaError, code=ErrorCode.INVALID_PRINCIPAL_TYPE):
    """The principal type is not supported."""


class GroupNotEmptyError(KafkaError, code=ErrorCode.NON_EMPTY_GROUP):
    """The group still has members."""


class GroupIdNotFoundError(KafkaError, code=ErrorCode.GROUP_ID_NOT_FOUND):
    """The group does not exist."""


class FetchSessionIdNotFoundError(RetriableError, code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND):
    """The fetch session does not exist (any more)."""


class InvalidFetchSessionEpochError(RetriableError, code=ErrorCode.INVALID_FETCH_SESSION_EPOCH):
    """The fetch session's epoch is not the expected one."""


class ListenerNotFoundError(RetriableError, code=ErrorCode.LISTENER_NOT_FOUND):
    """The leader has no listener of the name the request came in on."""


class TopicDeletionDisabledError(KafkaError, code=ErrorCode.TOPIC_DELETION_DISABLED):
    """Deletion of topics is switched off."""


class FencedLeaderEpochError(RetriableError, code=ErrorCode.FENCED_LEADER_EPOCH):
    """The leader epoch of the request is older than the broker's."""


class UnknownLeaderEpochError(RetriableError, code=ErrorCode.UNKNOWN_LEADER_EPOCH):
    """The leader epoch of the request is newer than the broker's."""


class UnsupportedCompressionTypeError(KafkaError, code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE):
    """The client's version cannot read this compression type."""


class StaleBrokerEpochError(KafkaError, code=ErrorCode.STALE_BROKER_EPOCH):
    """The broker epoch of the request is not the current one."""


class OffsetNotAvailableError(RetriableError, code=ErrorCode.OFFSET_NOT_AVAILABLE):
    """The new leader's high watermark is still behind: offsets are not known yet."""


class MemberIdRequiredError(KafkaError, code=ErrorCode.MEMBER_ID_REQUIRED):
    """The member must join again with the member id it was given."""


class PreferredLeaderNotAvailableError(
    RetriableError, code=ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
):
    """The preferred leader is not available."""


class GroupMaxSizeReachedError(KafkaError, code=ErrorCode.GROUP_MAX_SIZE_REACHED):
    """The group has reached its largest allowed size."""


class FencedInstanceIdError(KafkaError, code=ErrorCode.FENCED_INSTANCE_ID):
    """Another member with the same group instance id has taken over."""


class EligibleLeadersNotAvailableError(
    RetriableError, code=ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
):
    """No replica that may become the leader is available."""


class ElectionNotNeededError(RetriableError, code=ErrorCode.ELECTION_NOT_NEEDED):
    """The partition has the wanted leader already."""


class NoReassignmentInProgressError(KafkaError, code=ErrorCode.NO_REASSIGNMENT_IN_PROGRESS):
    """No reassignment of the partition is in progress."""


class GroupSubscribedToTopicError(KafkaError, code=ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC):
    """The group is subscribed to the topic: its offsets cannot be deleted."""


class InvalidRecordError(KafkaError, code=ErrorCode.INVALID_RECORD):
    """A record failed the broker's validation."""


class UnstableOffsetCommitError(RetriableError, code=ErrorCode.UNSTABLE_OFFSET_COMMIT):
    """Some offsets of the group hang on a transaction that is not complete."""


class ThrottlingQuotaExceededError(RetriableError, code=ErrorCode.THROTTLING_QUOTA_EXCEEDED):
    """The principal has used up its quota."""


class ProducerFencedError(KafkaError, code=ErrorCode.PRODUCER_FENCED):
    """A newer producer with the same transactional id has taken over."""


class ResourceNotFoundError(KafkaError, code=ErrorCode.RESOURCE_NOT_FOUND):
    """The resource does not exist."""


class DuplicateResourceError(KafkaError, code=ErrorCode.DUPLICATE_RESOURCE):
    """The resource exists already or is named twice in the request."""


class UnacceptableCredentialError(KafkaError, code=ErrorCode.UNACCEPTABLE_CREDENTIAL):
    """The credential does not meet the requirements."""


class InconsistentVoterSetError(KafkaError, code=ErrorCode.INCONSISTENT_VOTER_SET):
    """The voter sets of sender and receiver differ."""


class InvalidUpdateVersionError(KafkaError, code=ErrorCode.INVALID_UPDATE_VERSION):
    """The update was made on an old version of the state."""


class FeatureUpdateFailedError(KafkaError, code=ErrorCode.FEATURE_UPDATE_FAILED):
    """Finalized features could not be updated."""


class PrincipalDeserializationError(KafkaError, code=ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE):
    """The forwarded principal could not be read."""


class SnapshotNotFoundError(KafkaError, code=ErrorCode.SNAPSHOT_NOT_FOUND):
    """The snapshot does not exist."""


class PositionOutOfRangeError(KafkaError, code=ErrorCode.POSITION_OUT_OF_RANGE):
    """The position is outside the snapshot."""


class UnknownTopicIdError(RetriableError, code=ErrorCode.UNKNOWN_TOPIC_ID):
    """This broker does not know that topic id."""


class DuplicateBrokerRegistrationError(KafkaError, code=ErrorCode.DUPLICATE_BROKER_REGISTRATION):
    """The broker id is registered already."""


class BrokerIdNotRegisteredError(KafkaError, code=ErrorCode.BROKER_ID_NOT_REGISTERED):
    """The broker id is not registered."""


class InconsistentTopicIdError(RetriableError, code=ErrorCode.INCONSISTENT_TOPIC_ID):
    """The topic id in the log differs from that of the request."""


class InconsistentClusterIdError(KafkaError, code=ErrorCode.INCONSISTENT_CLUSTER_ID):
    """The cluster id of the request is not that of this cluster."""
