"""Which partitions a query reads: of named topics, of topics that match, or named ones."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kafkalike.model.topic_partition import TopicPartition
from spark_pipeline.datasource.errors import OptionError
from spark_pipeline.datasource.offset_spec import parse_assignment

_STRATEGIES: Final = ("subscribe", "subscribePattern", "assign")
_INTERNAL: Final = frozenset({"__consumer_offsets", "__transaction_state"})


@dataclass(frozen=True, slots=True)
class Subscription:
    """One of the three is given."""

    topics: tuple[str, ...] = ()
    pattern: str = ""
    assigned: tuple[TopicPartition, ...] = ()

    @property
    def asked_topics(self) -> tuple[str, ...] | None:
        """The topics to ask the cluster about; None for all."""
        if self.pattern:
            return None
        return self.topics or tuple(sorted({tp.topic for tp in self.assigned}))

    def choose(self, known: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Return the partitions to read, of those that exist."""
        if self.assigned:
            return set(known) & set(self.assigned)
        if not self.pattern:
            return {tp for tp in known if tp.topic in self.topics}
        fits = re.compile(self.pattern).fullmatch
        return {tp for tp in known if tp.topic not in _INTERNAL and fits(tp.topic)}

    def missing(self, known: Iterable[TopicPartition]) -> list[str]:
        """Return what is named in the options and does not exist."""
        known = set(known)
        if self.assigned:
            return [str(tp) for tp in self.assigned if tp not in known]
        return [topic for topic in self.topics if topic not in {tp.topic for tp in known}]

    def __str__(self) -> str:
        if self.pattern:
            return f"subscribePattern {self.pattern}"
        if self.assigned:
            return f"assign {', '.join(map(str, self.assigned))}"
        return f"subscribe {', '.join(self.topics)}"


def parse_subscription(options: Mapping[str, str]) -> Subscription:
    """Read the option that says what to read; the keys of `options` are in lower case."""
    given = [name for name in _STRATEGIES if name.lower() in options]
    if len(given) != 1:
        said = f"{' and '.join(given)} are given" if given else "none is given"
        raise OptionError(f"exactly one of the options {', '.join(_STRATEGIES)} is needed: {said}")
    (name,) = given
    text = options[name.lower()].strip()
    if not text:
        raise OptionError(f"option {name} is empty")
    if name == "assign":
        return Subscription(assigned=parse_assignment(name, text))
    if name == "subscribePattern":
        return Subscription(pattern=_checked_pattern(text))
    topics = tuple(topic.strip() for topic in text.split(",") if topic.strip())
    if not topics:
        raise OptionError(f"option subscribe: {text!r} names no topic")
    return Subscription(topics=topics)


def _checked_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"option subscribePattern: {text!r} is no pattern: {error}") from None
    return text
