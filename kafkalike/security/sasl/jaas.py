"""JAAS: the language of `sasl.jaas.config`, as Kafka's `JaasConfig` reads it.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";

Only the login module's class name and its options mean something here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kafkalike.config.errors import ConfigError

_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/                     # blanks and comments
      |"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'  # quoted
      |([\w.$\-]+)|(.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
_NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SECTION: Final = re.compile(r"([\w.$\-]+)\s*\{(.*?)\}\s*;", re.DOTALL)


@dataclass(frozen=True, slots=True, repr=False)
class JaasEntry:
    """One login module with its options, among them passwords: it does not print them."""

    login_module: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"JaasEntry({self.login_module}, [hidden])"


def parse_jaas(text: str) -> tuple[JaasEntry, ...]:
    """Read login modules, or raise a `ConfigError` that has no secret in it."""
    tokens = list(_tokens(text))
    entries = []
    while tokens:
        entries.append(_entry(tokens))
    if not entries:
        raise ConfigError("Login module not specified in JAAS config")
    return tuple(entries)


def parse_jaas_file(text: str) -> dict[str, tuple[JaasEntry, ...]]:
    """Read a JAAS file: `Client { ... };` and so on, by the name of the section."""
    return {name: parse_jaas(body) for name, body in _SECTION.findall(text)}


def _entry(tokens: list[tuple[str, bool]]) -> JaasEntry:
    module, _ = tokens.pop(0)
    if not tokens:
        raise ConfigError("Login module control flag not specified in JAAS config")
    flag, _ = tokens.pop(0)
    if flag.lower() not in _FLAGS:
        raise ConfigError(f"Invalid login module control flag '{flag}' in JAAS config")
    options = {}
    while tokens and not _is_sign(tokens[0], ";"):
        key, _ = tokens.pop(0)
        if len(tokens) < 2 or not _is_sign(tokens[0], "=") or _is_sign(tokens[1], ";"):
            raise ConfigError(f"Value not specified for key '{key}' in JAAS config")
        options[key] = tokens[1][0]
        del tokens[:2]
    if not tokens:
        raise ConfigError("JAAS config entry not terminated by semi-colon")
    del tokens[0]
    return JaasEntry(module, options)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each word or sign, and whether it was quoted."""
    for match in _TOKEN.finditer(text):
        double, single, word, sign = match.groups()
        quoted = double if double is not None else single
        if quoted is not None:
            yield _ESCAPE.sub(_unescaped, quoted), True
        elif word is not None or sign is not None:
            yield word or sign, False


def _is_sign(token: tuple[str, bool], sign: str) -> bool:
    return token == (sign, False)


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return chr(int(escape, 8)) if escape[0] in "01234567" else _NAMED.get(escape, escape)
