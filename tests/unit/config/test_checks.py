import pytest

from kafkalike.config.api_version import (
    ALL_VERSIONS,
    LATEST_VERSION,
    api_version,
    min_version_for_record_version,
)
from kafkalike.config.checks import (
    IS_API_VERSION,
    IS_THROTTLED_REPLICAS,
    at_least,
    between,
    one_of,
)
from kafkalike.config.errors import ConfigError


def test_numbers_are_held_to_their_bounds() -> None:
    at_least(1)("k", 1)
    between(0, 1)("k", 1)
    for check, value, reason in (
        (at_least(1), 0, "Invalid value 0 for configuration k: Value must be at least 1"),
        (between(0, 1), 1.5, "Invalid value 1.5 for configuration k: Value must be no more than 1"),
        (at_least(1), None, "Invalid value null for configuration k: Value must be non-null"),
    ):
        with pytest.raises(ConfigError, match=reason):
            check("k", value)


def test_words_are_held_to_a_list_one_by_one() -> None:
    check = one_of("compact", "delete")
    check("k", ("compact", "delete"))
    check("k", "delete")
    with pytest.raises(ConfigError, match="keep for configuration k: String must be one of: comp"):
        check("k", ("compact", "keep"))


@pytest.mark.parametrize("value", [(), ("*",), ("0:1", "12:3")])
def test_throttled_replicas_are_all_or_pairs(value: tuple[str, ...]) -> None:
    IS_THROTTLED_REPLICAS("k", value)


@pytest.mark.parametrize("value", [("0",), ("*", "0:1"), ("a:1",), ("0:1:2",)])
def test_other_throttled_replicas_are_refused(value: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="must be the literal '\\*' or a list of replicas"):
        IS_THROTTLED_REPLICAS("k", value)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.8", "2.8-IV1"),
        ("2.8-IV0", "2.8-IV0"),
        ("2.8.2", "2.8-IV1"),
        ("0.10.0.1", "0.10.0-IV1"),
        ("0.9.0", "0.9.0"),
        ("1.1.1", "1.1-IV0"),
        ("0.8.2.1", "0.8.2"),
    ],
)
def test_versions_are_found_by_all_their_names(text: str, version: str) -> None:
    assert api_version(text).version == version


@pytest.mark.parametrize("text", ["", "3.0", "2", "latest", "0.10"])
def test_other_versions_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid version"):
        IS_API_VERSION("k", text)


def test_versions_are_ordered_and_know_their_record_format() -> None:
    assert sorted(ALL_VERSIONS) == list(ALL_VERSIONS)
    assert api_version("2.8") == LATEST_VERSION
    assert [api_version(v).record_version for v in ("0.9.0", "0.10.0-IV0", "0.10.2", "0.11.0")] == [
        0,
        1,
        1,
        2,
    ]
    for magic in range(3):
        assert min_version_for_record_version(magic).record_version == magic
