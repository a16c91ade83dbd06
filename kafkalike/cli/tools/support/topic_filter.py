"""Topics by a regular expression, as Kafka's tools take them (`TopicFilter`, `IncludeList`)."""

import re

from kafkalike.cli.tools.support.errors import JavaError


class TopicFilter:
    """The whole name must match; a comma means "or"."""

    def __init__(self, expression: str) -> None:
        text = expression.strip().replace(",", "|").replace(" ", "")
        self.expression = text.lstrip("\"'").rstrip("\"'")
        try:
            self._pattern = re.compile(self.expression)
        except re.error:
            raise JavaError(
                "java.lang.RuntimeException", f"{self.expression} is an invalid regex."
            ) from None

    def matches(self, topic: str) -> bool:
        """Whether this topic is meant."""
        return self._pattern.fullmatch(topic) is not None
