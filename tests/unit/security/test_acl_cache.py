"""What follows from ACLs: literal, prefixed and wildcard, allow and deny, implied operations."""

import pytest

from kafkalike.security.acl import AccessControlEntry, AclPermissionType
from kafkalike.security.acl_cache import AclCache
from kafkalike.security.acl_operation import AclOperation
from kafkalike.security.resource import PatternType, ResourcePattern, ResourceType

ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
Op = AclOperation
TOPIC = ResourceType.TOPIC
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

Acl = tuple[str, PatternType, str, str, AclOperation, AclPermissionType]


def a_cache(*acls: Acl, everyone: bool = False) -> AclCache:
    cache = AclCache(is_allowed_without_acls=everyone)
    for name, pattern_type, principal, host, operation, permission in acls:
        pattern = ResourcePattern(TOPIC, name, pattern_type)
        entry = AccessControlEntry(principal, host, operation, permission)
        cache.update(pattern, {*cache.entries(pattern), entry})
    return cache


def may(
    cache: AclCache, operation: AclOperation, name: str, who: str = "User:al", host: str = "h"
) -> bool:
    return cache.is_allowed(who, host, operation, TOPIC, name)


@pytest.mark.parametrize(
    ("acl", "operation", "name", "is_allowed"),
    [
        (("t", LITERAL, "User:al", "*", Op.READ, ALLOW), Op.READ, "t", True),
        (("t", LITERAL, "User:al", "*", Op.READ, ALLOW), Op.WRITE, "t", False),
        (("t", LITERAL, "User:al", "*", Op.READ, ALLOW), Op.READ, "tt", False),
        (("t", LITERAL, "User:bo", "*", Op.READ, ALLOW), Op.READ, "t", False),
        (("t", LITERAL, "User:*", "*", Op.READ, ALLOW), Op.READ, "t", True),
        (("t", LITERAL, "User:al", "other", Op.READ, ALLOW), Op.READ, "t", False),
        (("t", LITERAL, "User:al", "h", Op.READ, ALLOW), Op.READ, "t", True),
        (("t", LITERAL, "User:al", "*", Op.ALL, ALLOW), Op.DELETE, "t", True),
        (("*", LITERAL, "User:al", "*", Op.READ, ALLOW), Op.READ, "any", True),
        (("te", PREFIXED, "User:al", "*", Op.READ, ALLOW), Op.READ, "team", True),
        (("te", PREFIXED, "User:al", "*", Op.READ, ALLOW), Op.READ, "te", True),
        (("te", PREFIXED, "User:al", "*", Op.READ, ALLOW), Op.READ, "t", False),
        # A prefix of "*" is the letter, not the wildcard.
        (("*", PREFIXED, "User:al", "*", Op.READ, ALLOW), Op.READ, "any", False),
        (("t", LITERAL, "User:al", "*", Op.UNKNOWN, ALLOW), Op.READ, "t", False),
    ],
)
def test_allow_acl_allows_what_it_says(
    acl: Acl, operation: AclOperation, name: str, is_allowed: bool
) -> None:
    assert may(a_cache(acl), operation, name) is is_allowed


@pytest.mark.parametrize("operation", [Op.READ, Op.WRITE, Op.DELETE, Op.ALTER])
def test_who_may_touch_a_topic_may_describe_it(operation: AclOperation) -> None:
    cache = a_cache(("t", LITERAL, "User:al", "*", operation, ALLOW))
    assert may(cache, Op.DESCRIBE, "t")
    assert not may(cache, Op.DESCRIBE_CONFIGS, "t")


def test_who_may_alter_configs_may_describe_them() -> None:
    cache = a_cache(("t", LITERAL, "User:al", "*", Op.ALTER_CONFIGS, ALLOW))
    assert may(cache, Op.DESCRIBE_CONFIGS, "t")
    assert not may(cache, Op.DESCRIBE, "t")


def test_denying_implies_nothing() -> None:
    cache = a_cache(
        ("t", LITERAL, "User:al", "*", Op.READ, DENY),
        ("t", LITERAL, "User:al", "*", Op.DESCRIBE, ALLOW),
    )
    assert may(cache, Op.DESCRIBE, "t")


@pytest.mark.parametrize(
    "deny",
    [
        ("team", LITERAL, "User:al", "*", Op.READ, DENY),
        ("te", PREFIXED, "User:*", "*", Op.READ, DENY),
        ("*", LITERAL, "User:al", "h", Op.ALL, DENY),
    ],
)
def test_deny_beats_allow_wherever_both_stand(deny: Acl) -> None:
    cache = a_cache(("team", LITERAL, "User:al", "*", Op.ALL, ALLOW), deny)
    assert not may(cache, Op.READ, "team")


def test_without_acls_everyone_may_only_if_configured() -> None:
    assert not may(a_cache(), Op.READ, "t")
    assert may(a_cache(everyone=True), Op.READ, "t")


def test_one_acl_ends_that_everyone_may() -> None:
    cache = a_cache(("t", LITERAL, "User:bo", "*", Op.READ, ALLOW), everyone=True)
    assert not may(cache, Op.READ, "t")
    assert may(cache, Op.READ, "u")


def test_decision_is_forgotten_when_an_acl_changes() -> None:
    cache = a_cache(("t", LITERAL, "User:al", "*", Op.READ, ALLOW))
    assert may(cache, Op.READ, "t")
    cache.update(ResourcePattern(TOPIC, "t"), [])
    assert not may(cache, Op.READ, "t")
    assert cache.patterns == ()


# --- any topic (KIP-679)


@pytest.mark.parametrize(
    ("acls", "is_allowed"),
    [
        ([], False),
        ([("t", LITERAL, "User:al", "*", Op.WRITE, ALLOW)], True),
        ([("te", PREFIXED, "User:al", "*", Op.WRITE, ALLOW)], True),
        ([("t", LITERAL, "User:al", "*", Op.READ, ALLOW)], False),
        ([("t", LITERAL, "User:bo", "*", Op.WRITE, ALLOW)], False),
        (
            [
                ("t", LITERAL, "User:al", "*", Op.WRITE, ALLOW),
                ("t", LITERAL, "User:al", "*", Op.WRITE, DENY),
            ],
            False,
        ),
        (
            [
                ("team", LITERAL, "User:al", "*", Op.WRITE, ALLOW),
                ("te", PREFIXED, "User:al", "*", Op.WRITE, DENY),
            ],
            False,
        ),
        (
            [
                ("te", PREFIXED, "User:al", "*", Op.WRITE, ALLOW),
                ("team", PREFIXED, "User:al", "*", Op.WRITE, DENY),
            ],
            True,
        ),
        (
            [
                ("*", LITERAL, "User:al", "*", Op.WRITE, ALLOW),
                ("te", PREFIXED, "User:al", "*", Op.WRITE, DENY),
            ],
            True,
        ),
        (
            [
                ("t", LITERAL, "User:al", "*", Op.WRITE, ALLOW),
                ("*", LITERAL, "User:*", "*", Op.ALL, DENY),
            ],
            False,
        ),
    ],
)
def test_some_topic_may_be_written(acls: list[Acl], is_allowed: bool) -> None:
    assert a_cache(*acls).is_allowed_somewhere("User:al", "h", Op.WRITE, TOPIC) is is_allowed


def test_everyone_may_write_some_topic_unless_all_are_denied() -> None:
    assert a_cache(everyone=True).is_allowed_somewhere("User:al", "h", Op.WRITE, TOPIC)
    denied = a_cache(("*", LITERAL, "User:al", "*", Op.WRITE, DENY), everyone=True)
    assert not denied.is_allowed_somewhere("User:al", "h", Op.WRITE, TOPIC)
