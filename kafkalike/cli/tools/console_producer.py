"""`kafka-console-producer`: lines of standard input become records (Kafka's `ConsoleProducer`)."""

from typing import Any, Final

from kafkalike.cli.tools.support.checks import check_required, key_values
from kafkalike.cli.tools.support.errors import UsageError
from kafkalike.cli.tools.support.options import Option, Parsed, integer, long, switch
from kafkalike.cli.tools.support.tool import Tool

_READER: Final = "kafka.tools.ConsoleProducer$LineMessageReader"
_MIB: Final = 1 << 20


def _number(name: str, help: str, default: int, value: str = "", kind: Any = integer) -> Option:
    kind_name = "Long" if kind is long else "Integer"
    return Option(name, help, value, kind=kind, kind_name=kind_name, default=default)


OPTIONS: Final = (
    Option("topic", "REQUIRED: The topic to write to.", "topic"),
    Option(
        "bootstrap-server",
        "REQUIRED unless --broker-list (deprecated) is given: host:port,host:port.",
        "server to connect to",
    ),
    Option(
        "broker-list",
        "DEPRECATED, use --bootstrap-server: host:port,host:port.",
        "broker-list",
    ),
    switch("sync", "Send one record after the other, each when the one before is stored."),
    Option(
        "compression-codec",
        "none, gzip (if nothing is said), snappy, lz4 or zstd.",
        "compression-codec",
        value_is_optional=True,
    ),
    _number("batch-size", "Accepted and without effect.", 200, "size"),
    _number("message-send-max-retries", "How often to try again.", 3),
    _number("retry-backoff-ms", "How long to wait before that.", 100),
    _number("timeout", "How long records may wait for others (linger.ms).", 1000, "timeout_ms"),
    Option(
        "request-required-acks",
        "0: do not wait; 1: the leader has it; all: all in-sync replicas have it.",
        "request required acks",
        default="1",
    ),
    _number(
        "request-timeout-ms", "How long a broker may take to answer.", 1500, "request timeout ms"
    ),
    _number(
        "metadata-expiry-ms",
        "How old the knowledge of who leads what may become.",
        5 * 60 * 1000,
        "metadata expiration interval",
        long,
    ),
    _number("max-block-ms", "How long a send may block.", 60_000, "max block on send", long),
    _number("max-memory-bytes", "The buffer.", 32 * _MIB, "total memory in bytes", long),
    _number(
        "max-partition-memory-bytes",
        "The size of a batch.",
        16_384,
        "memory in bytes per partition",
        long,
    ),
    Option("line-reader", "Only Kafka's own is there.", "reader_class", default=_READER),
    _number("socket-buffer-size", "Accepted and without effect.", 100 * 1024, "size"),
    Option(
        "property",
        "How lines are read: parse.key, key.separator, ignore.error; and parse.headers,"
        " headers.delimiter, headers.separator, headers.key.separator, null.marker.",
        "prop",
    ),
    Option("producer-property", "A setting of the producer, key=value.", "producer_prop"),
    Option("producer.config", "A file with settings of the producer.", "config file"),
)

# Kafka's options by the setting that they stand for.
_SETTINGS: Final = {
    "linger.ms": "timeout",
    "acks": "request-required-acks",
    "request.timeout.ms": "request-timeout-ms",
    "retries": "message-send-max-retries",
    "retry.backoff.ms": "retry-backoff-ms",
    "buffer.memory": "max-memory-bytes",
    "batch.size": "max-partition-memory-bytes",
    "metadata.max.age.ms": "metadata-expiry-ms",
    "max.block.ms": "max-block-ms",
}


def producer_settings(parsed: Parsed) -> dict[str, Any]:
    """Return the settings of the producer: files and properties, then what options say."""
    from kafkalike.cli.tools.support.client import read_settings_option

    settings: dict[str, Any] = read_settings_option(parsed, "producer.config")
    settings |= key_values(parsed.values("producer-property"))
    given = "bootstrap-server" if parsed.has("bootstrap-server") else "broker-list"
    settings["bootstrap.servers"] = parsed.value(given)
    settings["compression.type"] = _compression(parsed)
    settings.setdefault("client.id", "console-producer")
    for setting, name in _SETTINGS.items():
        if parsed.has(name) or setting not in settings:
            settings[setting] = str(parsed.value(name))
    return settings


def _compression(parsed: Parsed) -> str:
    if not parsed.has("compression-codec"):
        return "none"
    return parsed.value("compression-codec") or "gzip"


def run(parsed: Parsed) -> int:
    """Send every line."""
    if not parsed.has("bootstrap-server") and not parsed.has("broker-list"):
        raise UsageError("Missing required option(s) [bootstrap-server]")
    check_required(parsed, "topic")
    check_addresses(parsed.value("bootstrap-server") or parsed.value("broker-list"))
    # Inside, because the client takes longer to load than help takes to print.
    from kafkalike.cli.tools.console_sender import send_lines

    return send_lines(
        parsed.value("topic"),
        producer_settings(parsed),
        key_values(parsed.values("property")),
        line_reader=parsed.value("line-reader"),
        sync=parsed.has("sync"),
    )


def check_addresses(text: str) -> None:
    """Refuse what is not `host:port,host:port`."""
    for address in text.split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise UsageError("Please provide valid host:port like host1:9091,host2:9092\n ")


main: Final = Tool(
    "kafka-console-producer",
    "This tool helps to read data from standard input and publish it to Kafka.",
    OPTIONS,
    run,
    helps_with_options=True,
)
