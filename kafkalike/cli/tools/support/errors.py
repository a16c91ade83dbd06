"""How a tool ends when it cannot do its work, with the names of errors that Kafka's tools print.

`UsageError` is a wrong command line: message and help. `JavaError` is an error with a Java name,
which tools print as Kafka's do (`java.lang.IllegalArgumentException: …`). `ToolFailure` only ends
the tool, with a line on standard error if there is something left to say.
"""


class UsageError(Exception):
    """The command line makes no sense; shown with the help, exit code 1."""


class ToolFailure(Exception):
    """The tool ends here; its words, if any, go to standard error."""

    def __init__(self, message: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class JavaError(Exception):
    """An error that Kafka's tools know by a Java class."""

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(message)
        self.java_class = java_class


class IllegalArgumentError(JavaError):
    """`java.lang.IllegalArgumentException`."""

    def __init__(self, message: str) -> None:
        super().__init__("java.lang.IllegalArgumentException", message)


class OptionError(JavaError):
    """A command line that joptsimple refuses."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(f"joptsimple.{name}", message)
