"""Versions of Kafka as `inter.broker.protocol.version` and `log.message.format.version` name them.

Kafka's `ApiVersion`: they are ordered, `2.8` means the last of `2.8-IV0`, `2.8-IV1`, and each has
the newest record format (magic) it knows.
"""

from typing import Final, NamedTuple

from kafkalike.config.errors import ConfigError


class ApiVersion(NamedTuple):
    """One version; later versions compare greater."""

    id: int
    version: str
    short_version: str
    record_version: int


# fmt: off
_NAMES: Final = (
    "0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1",
    "0.10.1-IV2", "0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0",
    "2.0-IV0", "2.0-IV1", "2.1-IV0", "2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0",
    "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0", "2.7-IV0", "2.7-IV1", "2.7-IV2",
    "2.8-IV0", "2.8-IV1",
)
# fmt: on
_FIRST_OF_MAGIC: Final = (
    0,
    _NAMES.index("0.10.0-IV0"),
    _NAMES.index("0.11.0-IV0"),
)

ALL_VERSIONS: Final = tuple(
    ApiVersion(
        number,
        name,
        name.partition("-")[0],
        2 if number >= _FIRST_OF_MAGIC[2] else int(number >= _FIRST_OF_MAGIC[1]),
    )
    for number, name in enumerate(_NAMES)
)
LATEST_VERSION: Final = ALL_VERSIONS[-1]
_BY_NAME: Final = {version.short_version: version for version in ALL_VERSIONS} | {
    version.version: version for version in ALL_VERSIONS
}


def api_version(text: str) -> ApiVersion:
    """Find a version by any of its names: `2.8`, `2.8-IV1`, `2.8.1`, `0.10.0.1`."""
    segments = text.split(".")
    version = _BY_NAME.get(".".join(segments[: 3 if text.startswith("0.") else 2]))
    if version is None:
        raise ConfigError(f"Version `{text}` is not a valid version")
    return version


def min_version_for_record_version(record_version: int) -> ApiVersion:
    """Return the oldest version that knows a record format."""
    return ALL_VERSIONS[_FIRST_OF_MAGIC[record_version]]
