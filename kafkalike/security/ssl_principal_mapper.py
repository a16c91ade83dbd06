"""`ssl.principal.mapping.rules`: short names from the distinguished names of certificates.

    RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT

The first rule whose pattern matches the whole name gives the new one (Kafka's SslPrincipalMapper).
"""

import re
from dataclasses import dataclass
from typing import Final

from kafkalike.config.errors import ConfigError

_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER: Final = re.compile(rf"\s*({_RULE})\s*(?:,\s*|$)")
_PARSER: Final = re.compile(_RULE)
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)", re.DOTALL)


class NoMatchingRuleError(Exception):
    """No rule applies to a distinguished name, and there is no DEFAULT."""


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        groups = match.groups()
        result = _REFERENCE.sub(lambda reference: _expanded(reference, groups), self.replacement)
        return {"L": result.lower(), "U": result.upper()}.get(self.case, result)


class SslPrincipalMapper:
    """The rules of one listener."""

    def __init__(self, rules: str) -> None:
        texts = [match[1] for match in _SPLITTER.finditer(rules.strip())]
        self._rules = [rule for rule in map(_parsed, texts) if rule is not None]

    def name_of(self, distinguished_name: str) -> str:
        """Give the name that the first matching rule makes."""
        for rule in self._rules:
            name = rule.apply(distinguished_name)
            if name is not None:
                return name
        raise NoMatchingRuleError(
            f"no rule of ssl.principal.mapping.rules applies to {distinguished_name}"
        )


def _parsed(text: str) -> _Rule | None:
    match = _PARSER.match(text)
    if match is None or match.end() != len(text):
        raise ConfigError(f"ssl.principal.mapping.rules: invalid rule `{text}`")
    if match[1] is not None:
        return _Rule(None)
    if match[2] is None:
        return None  # empty rules are ignored
    try:
        return _Rule(re.compile(match[2]), match[3], match[4])
    except re.error as error:
        raise ConfigError(f"ssl.principal.mapping.rules: `{match[2]}`: {error}") from error


def _expanded(reference: re.Match[str], groups: tuple[str | None, ...]) -> str:
    """Put a group in the place of $1; a number that has no group stands for itself, as in Kafka."""
    if reference[1] is not None:
        return reference[1]
    digits = reference[2]
    for length in range(len(digits), 0, -1):
        number = int(digits[:length])
        if 0 < number <= len(groups):
            return (groups[number - 1] or "") + digits[length:]
    return reference[0]
