"""SCRAM credentials of users, told and changed through the broker (KIP-554).

Part of Kafka's `ZkAdminManager`. What is stored cannot be read back: only mechanism and iterations
are told.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kafkalike.protocol.errors import (
    DuplicateResourceError,
    KafkaError,
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnknownServerError,
    UnsupportedSaslMechanismError,
)
from kafkalike.security.sasl.scram import (
    BY_CODE,
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramMechanism,
    credential_of,
    format_credential,
    parse_credential,
)
from kafkalike.zk.client import KafkaZkClient
from kafkalike.zk.errors import ZkError
from kafkalike.zk.znodes import ConfigType, desanitize, sanitize

_EMPTY_NAME: Final = "Username must not be empty"


class CredentialInfo(NamedTuple):
    """What is told of a credential."""

    mechanism: ScramMechanism
    iterations: int


Described = list[CredentialInfo] | KafkaError


class ScramAdmin:
    """Reads and writes `/config/users`."""

    def __init__(self, zk: KafkaZkClient) -> None:
        self._zk = zk

    async def describe(self, users: Sequence[str] | None) -> dict[str, Described]:
        """Describe users that have credentials (all if none are named), each with its outcome."""
        if not users:
            names = sorted(await self._zk.get_all_entities_with_config(ConfigType.USER))
            found = {desanitize(n): await self._configs(desanitize(n)) for n in names}
            described = {user: _infos(config) for user, config in sorted(found.items())}
            return {user: infos for user, infos in described.items() if infos != []}
        counts = Counter(users)
        return {user: await self._describe_named(user, counts[user]) for user in counts}

    async def _describe_named(self, user: str, times: int) -> Described:
        if not user:
            return ResourceNotFoundError(_EMPTY_NAME)
        if times > 1:
            return DuplicateResourceError(
                "Cannot describe SCRAM credentials for the same user twice in a single request: "
                f"{user}"
            )
        infos = _infos(await self._configs(user))
        if infos == []:
            return ResourceNotFoundError(
                f"Attempt to describe a user credential that does not exist: {user}"
            )
        return infos

    # Any: the structs of AlterUserScramCredentials.
    async def alter(
        self, upsertions: Sequence[Any], deletions: Sequence[Any]
    ) -> dict[str, KafkaError | None]:
        """Set and delete credentials; all that is asked for one user happens, or nothing of it."""
        outcome = _problems(upsertions, deletions)
        users = dict.fromkeys(entry.name for entry in (*upsertions, *deletions))
        for user in users:
            if user not in outcome:
                outcome[user] = await self._alter_user(
                    user,
                    [entry for entry in upsertions if entry.name == user],
                    [entry for entry in deletions if entry.name == user],
                )
        return outcome

    async def _alter_user(
        self, user: str, upsertions: Iterable[Any], deletions: Iterable[Any]
    ) -> KafkaError | None:
        config = await self._configs(user)
        for deletion in deletions:
            if config.pop(BY_CODE[deletion.mechanism].mechanism_name, None) is None:
                return ResourceNotFoundError(
                    "Attempt to delete a user credential that does not exist"
                )
        for entry in upsertions:
            mechanism = BY_CODE[entry.mechanism]
            credential = credential_of(
                mechanism, bytes(entry.salt), bytes(entry.salted_password), entry.iterations
            )
            config[mechanism.mechanism_name] = format_credential(credential)
        try:
            await self._zk.set_or_create_entity_configs(ConfigType.USER, sanitize(user), config)
            await self._zk.create_config_change_notification(f"{ConfigType.USER}/{sanitize(user)}")
        except ZkError as error:
            return UnknownServerError(str(error))
        return None

    async def _configs(self, user: str) -> dict[str, str]:
        return await self._zk.get_entity_configs(ConfigType.USER, sanitize(user))


def _infos(config: Mapping[str, str]) -> Described:
    infos = []
    for mechanism in ScramMechanism:
        text = config.get(mechanism.mechanism_name)
        if text is not None:
            try:
                infos.append(CredentialInfo(mechanism, parse_credential(text).iterations))
            except ValueError as error:
                return UnknownServerError(str(error))
    return infos


def _problems(upsertions: Iterable[Any], deletions: Iterable[Any]) -> dict[str, KafkaError | None]:
    """Find the users whose part of the request makes no sense."""
    problems: dict[str, KafkaError | None] = {}
    pairs: Counter[tuple[str, int]] = Counter()
    for entry in (*deletions, *upsertions):
        pairs[entry.name, entry.mechanism] += 1
        problem = _problem(entry)
        if problem is not None:
            problems[entry.name] = problem
    for (user, _), times in pairs.items():
        if times > 1 and user not in problems:
            problems[user] = DuplicateResourceError(
                "A user credential cannot be altered twice in the same request"
            )
    return problems


def _problem(entry: Any) -> KafkaError | None:
    if not entry.name:
        return UnacceptableCredentialError(_EMPTY_NAME)
    if entry.mechanism not in BY_CODE:
        return UnsupportedSaslMechanismError("Unknown SCRAM mechanism")
    iterations = getattr(entry, "iterations", MIN_ITERATIONS)
    if iterations > MAX_ITERATIONS:
        return UnacceptableCredentialError("Too many iterations")
    if iterations < MIN_ITERATIONS:
        return UnacceptableCredentialError("Too few iterations")
    return None
