"""`kafka-dump-log`: the contents of log segments, indexes and snapshots (`DumpLogSegments`)."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkalike.cli.tools.support.checks import check_required
from kafkalike.cli.tools.support.errors import JavaError
from kafkalike.cli.tools.support.listing import print_lines
from kafkalike.cli.tools.support.options import Option, Parsed, integer, switch
from kafkalike.cli.tools.support.tool import Tool, print_error, print_line

if TYPE_CHECKING:
    from kafkalike.cli.tools.dump_indexes import Pair, TimeIndexErrors
    from kafkalike.cli.tools.dump_segment import Parser

_STRING_DECODER: Final = "kafka.serializer.StringDecoder"

OPTIONS: Final = (
    Option("files", "REQUIRED: The files to dump, separated by commas.", "file1, file2, ..."),
    switch("print-data-log", "Print keys and values as well. Implied by every decoder."),
    switch("deep-iteration", "Print every record, not only batches. Implied by print-data-log."),
    switch("verify-index-only", "Check indexes against the log without printing them."),
    switch("index-sanity-check", "Make only the check that a broker makes when it starts."),
    Option(
        "max-message-size",
        "Accepted and without effect: batches of any size are read.",
        "size",
        kind=integer,
        kind_name="Integer",
        default=5 * 1024 * 1024,
    ),
    Option(
        "value-decoder-class",
        "What makes text of values: StringDecoder, DefaultDecoder, LongDecoder or IntegerDecoder"
        " of kafka.serializer.",
        "",
        value_is_optional=True,
        default=_STRING_DECODER,
    ),
    Option(
        "key-decoder-class",
        "What makes text of keys; the classes are those for values.",
        "",
        value_is_optional=True,
        default=_STRING_DECODER,
    ),
    switch("offsets-decoder", "Read the records as those of __consumer_offsets."),
    switch("transaction-log-decoder", "Read the records as those of __transaction_state."),
    switch("cluster-metadata-decoder", "For clusters without ZooKeeper: refused."),
    switch("skip-record-metadata", "Leave out the metadata of records."),
)


def run(parsed: Parsed) -> int:
    """Dump one file after the other, then tell what is wrong with them."""
    check_required(parsed, "files")
    if parsed.has("cluster-metadata-decoder"):
        raise JavaError(
            "org.apache.kafka.common.errors.UnsupportedVersionException",
            "--cluster-metadata-decoder: there is no __cluster_metadata topic with ZooKeeper",
        )
    dump = _Dump(parsed)
    for name in parsed.value("files").split(","):
        dump.file(name)
    dump.tell_problems()
    return 0


class _Dump:
    """One run: how to print, and the problems found so far, by file."""

    def __init__(self, parsed: Parsed) -> None:
        from kafkalike.cli.tools.dump_segment import SegmentDump

        parser = _parser(parsed)
        self._segment = SegmentDump(
            is_deep=parsed.has("deep-iteration") or parser is not None,
            parser=parser,
            skip_record_metadata=parsed.has("skip-record-metadata"),
        )
        self._sanity_only = parsed.has("index-sanity-check")
        self._verify_only = parsed.has("verify-index-only")
        self._gaps: dict[Path, list[tuple[int, int]]] = {}
        self._mismatches: dict[Path, list[Pair]] = {}
        self._times: dict[Path, TimeIndexErrors] = {}

    def file(self, name: str) -> None:
        """Print one file, by what its name ends with."""
        from kafkalike.cli.tools import dump_indexes

        print_line(f"Dumping {name}")
        file = Path(name)
        if "." not in file.name:
            raise JavaError(
                "java.lang.StringIndexOutOfBoundsException",
                f"begin -1, end {len(file.name)}, length {len(file.name)}",
            )
        only = {"sanity_only": self._sanity_only, "verify_only": self._verify_only}
        damaged: list[str] = []
        if file.suffix == ".log":
            print_lines(self._segment.lines(file, self._gaps.setdefault(file, [])))
        elif file.suffix == ".index":
            found = self._mismatches.setdefault(file, [])
            print_lines(dump_indexes.dump_offset_index(file, **only, mismatches=found))
        elif file.suffix == ".timeindex":
            errors = self._times.setdefault(file, dump_indexes.TimeIndexErrors())
            print_lines(dump_indexes.dump_time_index(file, **only, errors=errors))
        elif file.suffix == ".snapshot":
            print_lines(dump_indexes.dump_producer_snapshot(file, damaged))
        elif file.suffix == ".txnindex":
            print_lines(dump_indexes.dump_txn_index(file))
        else:
            print_error(f"Ignoring unknown file {name}")
        for text in damaged:
            print_error(text)

    def tell_problems(self) -> None:
        """Print what does not fit together to standard error."""
        for file, mismatches in self._mismatches.items():
            _tell(
                f"Mismatches in :{file.absolute()}",
                "  Index offset: {}, log offset: {}",
                mismatches,
            )
        for file, errors in self._times.items():
            path = file.absolute()
            _tell(
                f"Found timestamp mismatch in :{path}",
                "  Index timestamp: {}, log timestamp: {}",
                errors.mismatches,
            )
            _tell(
                f"Found out of order timestamp in :{path}",
                "  Index timestamp: {}, Previously indexed timestamp: {}",
                errors.out_of_order,
            )
            _tell(
                "The following indexed offsets are not found in the log.",
                "Indexed offset: {}, found log offset: {}",
                errors.not_found,
            )
        for file, gaps in self._gaps.items():
            _tell(
                f"Non-consecutive offsets in {file.absolute()}",
                "  {} is followed by {}",
                gaps[::-1],
            )


def _tell(title: str, line: str, pairs: "list[Pair] | list[tuple[int, int]]") -> None:
    if pairs:
        print_error(title)
    for pair in pairs:
        print_error(line.format(*pair))


def _parser(parsed: Parsed) -> "Parser | None":
    if parsed.has("offsets-decoder"):
        from kafkalike.cli.tools.coordinator_text import dump_group_record

        return dump_group_record
    if parsed.has("transaction-log-decoder"):
        from kafkalike.cli.tools.coordinator_text import dump_transaction_record

        return dump_transaction_record
    if not any(map(parsed.has, ("print-data-log", "value-decoder-class", "key-decoder-class"))):
        return None
    from kafkalike.cli.tools.decoders import decoder

    key = decoder(parsed.value("key-decoder-class"))
    value = decoder(parsed.value("value-decoder-class"))
    return lambda k, v: (None if k is None else key(k), None if v is None else value(v))


main: Final = Tool(
    "kafka-dump-log",
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging"
    " a seemingly corrupt log segment.",
    OPTIONS,
    run,
)
