"""Writes the reference of all keys, `docs/configs.md`, from their declarations."""

from collections.abc import Iterator
from typing import Final

from kafkalike.config.broker.keys import BrokerKeys
from kafkalike.config.definition import Config, ConfigKey
from kafkalike.config.topic_config import TopicConfig
from kafkalike.config.value_types import format_value

_HEAD: Final = """\
# Configuration keys

Names, types, defaults and valid values are those of Kafka 2.8. A key marked *no effect* is accepted
and checked, but nothing reads it yet; a broker that has one set says so when it starts. Written by
`scripts/config-docs`: change the declarations in `kafkalike/config`, not this file.

"Update" says whether a broker key changes while the broker runs: for one broker, for the whole
cluster, or not at all (read-only).
"""
_NO_EFFECT: Final = "*No effect.* "


def document(ineffective_broker: frozenset[str], ineffective_topic: frozenset[str]) -> str:
    """Return the whole reference as Markdown."""
    lines = [_HEAD]
    for group in reversed(BrokerKeys.__bases__):
        if issubclass(group, Config):
            lines += _section(f"Broker: {_first_line(group)}", group, ineffective_broker)
    lines += _section("Topic: what a topic can have for itself.", TopicConfig, ineffective_topic)
    return "\n".join(lines) + "\n"


def _first_line(group: type[Config]) -> str:
    first = (group.__doc__ or "").partition("\n")[0]
    return first[:1].lower() + first[1:]


def _section(title: str, group: type[Config], ineffective: frozenset[str]) -> Iterator[str]:
    is_topic = group is TopicConfig
    column = "Broker key" if is_topic else "Update"
    yield f"## {title.rstrip('.')}\n"
    yield f"| Key | Type | Default | Valid values | Importance | {column} | Meaning |"
    yield "|---|---|---|---|---|---|---|"
    for key in group.KEYS.values():
        last = key.server_default if is_topic else key.dynamic.value
        yield _row(key, last or "", key.name in ineffective)
    yield ""


def _row(key: ConfigKey, mode: str, is_ineffective: bool) -> str:
    cells = [
        f"`{key.name}`",
        key.type.name.lower(),
        _shown_default(key),
        "" if key.check is None else str(key.check),
        key.importance.value,
        mode,
        (_NO_EFFECT if is_ineffective else "") + key.doc,
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _shown_default(key: ConfigKey) -> str:
    text = format_value(key.default)
    if text is None:
        return "null"
    return f"`{text}`" if text else '""'
