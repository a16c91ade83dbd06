import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kafkalike.cli.main import main
from kafkalike.cli.wire.names import message_class, message_names
from kafkalike.cli.wire.walk import walk
from tests.support.protocol_vectors import GOLDEN, message_classes, vectors


def wire(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["wire", *arguments], input=stdin, prog_name="kafkalike")


def rows_of_vectors() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / "protocol" / "vectors.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def as_lines(rows: list[dict[str, Any]], without: str) -> str:
    kept = [{name: value for name, value in row.items() if name != without} for row in rows]
    return "".join(json.dumps(row) + "\n" for row in kept)


def captured() -> list[Path]:
    return sorted((GOLDEN / "wire").glob("*.jsonl"))


def test_decode_fills_in_the_fields_of_every_vector() -> None:
    rows = rows_of_vectors()
    result = wire("decode", "--jsonl", stdin=as_lines(rows, without="fields"))
    assert result.exit_code == 0, result.output
    assert [json.loads(line) for line in result.stdout.splitlines()] == rows


def test_encode_fills_in_the_bytes_of_every_vector() -> None:
    rows = rows_of_vectors()
    result = wire("encode", "--jsonl", stdin=as_lines(rows, without="hex"))
    assert result.exit_code == 0, result.output
    assert [json.loads(line) for line in result.stdout.splitlines()] == rows


@pytest.mark.parametrize("path", captured(), ids=lambda path: path.stem)
def test_captured_frames_are_the_same_after_decode_and_encode(path: Path) -> None:
    decoded = wire("decode", "--jsonl", "--keep-going", stdin=path.read_text())
    rows = [json.loads(line) for line in decoded.stdout.splitlines()]
    # One client asks for a version that 2.8 does not have.
    assert {row.pop("error") for row in rows if "error" in row} <= {
        "ApiVersionsRequest has versions 0 to 3, not 4",
        "ApiVersionsResponse has versions 0 to 3, not 4",
    }
    rows = [row for row in rows if "fields" in row]
    again = wire("encode", "--jsonl", stdin=as_lines(rows, without="hex"))
    assert again.exit_code == 0, again.stderr
    assert [json.loads(line)["hex"] for line in again.stdout.splitlines()] == [
        row["hex"] for row in rows
    ]


def test_every_message_of_the_tables_is_known_by_name() -> None:
    assert {name: message_class(name) for name in message_names()} == message_classes()
    listed = json.loads(wire("messages", "--output", "json").stdout)
    assert [row["message"] for row in listed] == [*message_names()]
    assert "ProduceRequest" in wire("messages").stdout


def test_a_request_is_read_with_its_header_and_written_again() -> None:
    frame = "000c000000000007000261620001670000000500016d"
    decoded = wire("decode", "--request", frame)
    row = json.loads(decoded.stdout)
    assert row == {
        "header": {
            "requestApiKey": 12,
            "requestApiVersion": 0,
            "correlationId": 7,
            "clientId": "ab",
        },
        "message": "HeartbeatRequest",
        "version": 0,
        "fields": {"groupId": "g", "generationId": 5, "memberId": "m"},
    }
    assert wire("encode", stdin=decoded.stdout).stdout.strip() == frame


def test_a_response_needs_its_api_and_version() -> None:
    result = wire(
        "decode", "--response", "--key", "Heartbeat", "--version", "1", "00000007 00000000 001b"
    )
    assert json.loads(result.stdout) == {
        "header": {"correlationId": 7},
        "message": "HeartbeatResponse",
        "version": 1,
        "fields": {"throttleTimeMs": 0, "errorCode": 27},
    }
    by_number = wire(
        "decode", "--response", "--key", "12", "--version", "1", "0000000700000000001b"
    )
    assert by_number.stdout == result.stdout
    assert wire("decode", "--response", "--version", "1", "00").exit_code == 2
    assert "--version is needed" in wire("decode", "--response", "--key", "12", "00").output


def test_fields_alone_are_enough_where_message_and_version_are_options() -> None:
    fields = '{"groupId": "g", "generationId": 5, "memberId": "m"}'
    result = wire("encode", "--message", "HeartbeatRequest", "--version", "0", fields)
    assert result.stdout == "0001670000000500016d\n"
    framed = wire(
        "encode", "--message", "HeartbeatRequest", "--version", "0", "--request", "--length", fields
    )
    assert framed.stdout == "00000014000c00000000000000000001670000000500016d\n"
    read = wire("decode", "--request", "--length", framed.stdout)
    assert json.loads(read.stdout)["fields"] == json.loads(fields)


def test_bytes_after_a_request_are_kept_and_after_a_response_refused() -> None:
    decoded = wire(
        "decode", "--message", "HeartbeatRequest", "--version", "0", "0001670000000500016dbeef"
    )
    assert json.loads(decoded.stdout)["trailing"] == "beef"
    assert wire("encode", stdin=decoded.stdout).stdout.strip().endswith("6dbeef")
    refused = wire("decode", "--message", "HeartbeatResponse", "--version", "0", "0000beef")
    assert refused.exit_code == 1
    assert "HeartbeatResponse v0 ends at byte 2, 2 bytes follow" in refused.output


def test_unknown_tagged_fields_survive_both_ways() -> None:
    body = "0167" + "00000005" + "026d" + "00" + "01" + "63" + "02" + "abcd"
    body = "02" + body[2:]
    decoded = wire("decode", "--message", "HeartbeatRequest", "--version", "4", body)
    assert json.loads(decoded.stdout)["fields"]["unknownTaggedFields"] == {"99": "b64:q80="}
    assert wire("encode", stdin=decoded.stdout).stdout.strip() == body


def test_records_can_be_opened() -> None:
    line = next(
        line
        for line in (GOLDEN / "wire" / "java.jsonl").read_text().splitlines()
        if json.loads(line)["api_key"] == 0 and json.loads(line)["direction"] == "request"
    )
    row = json.loads(wire("decode", "--jsonl", "--records", stdin=line).stdout)
    (batch,) = row["fields"]["topicData"][0]["partitionData"][0]["records"]["batches"]
    assert batch["isCrcValid"]
    assert batch["records"][0]["value"] == "one"


@pytest.mark.parametrize(
    ("message", "version", "digits", "said"),
    [
        (
            "HeartbeatRequest",
            0,
            "000167000000",
            "generationId at byte 3: int32 is cut off, 3 bytes",
        ),
        ("HeartbeatRequest", 0, "0009", "groupId at byte 0: its length is 9, 0 bytes follow"),
        ("HeartbeatRequest", 0, "ffff", "groupId at byte 0 is null, which this version does not"),
        ("HeartbeatRequest", 4, "02", "groupId at byte 0: its length is 1, 0 bytes follow"),
        ("HeartbeatRequest", 4, "0267", "generationId at byte 2: int32 is cut off, 0 bytes"),
        (
            "MetadataRequest",
            1,
            "00000002000161",
            "topics[1].name (length) at byte 7: length is cut",
        ),
        ("HeartbeatRequest", 0, "0002c328", "groupId at byte 2: 'utf-8' codec can't decode"),
        ("HeartbeatRequest", 9, "00", "HeartbeatRequest has versions 0 to 4, not 9"),
        ("HeartbeetRequest", 0, "00", "did you mean HeartbeatRequest?"),
        ("HeartbeatRequest", 0, "0x0g", "this is not hex"),
    ],
)
def test_bytes_that_cannot_be_read_are_told_by_field_and_byte(
    message: str, version: int, digits: str, said: str
) -> None:
    result = wire("decode", "--message", message, "--version", str(version), digits)
    assert result.exit_code == 1
    assert said in result.output


@pytest.mark.parametrize(
    ("version", "fields", "said"),
    [
        (0, '{"groupIt": "g"}', "groupIt: HeartbeatRequest has no such field; it has groupId"),
        (0, '{"groupId": 5}', "groupId: a string of at most 32767 bytes is needed, not 5"),
        (0, '{"groupId": null}', "groupId: version 0 does not allow null"),
        (0, '{"generationId": 5000000000}', "generationId: a whole number from -2147483648"),
        (0, '{"generationId": true}', "generationId: a whole number"),
        (0, '{"groupInstanceId": "i"}', "groupInstanceId: not a field of version 0, but of 3+"),
        (0, "[]", "a JSON object is needed"),
        (0, "{", "this is not JSON"),
    ],
)
def test_json_that_cannot_be_written_is_told_by_field(version: int, fields: str, said: str) -> None:
    result = wire("encode", "--message", "HeartbeatRequest", "--version", str(version), fields)
    assert result.exit_code == 1
    assert said in result.output


def test_errors_inside_name_the_whole_way() -> None:
    fields = '{"topics": [{"name": "a"}, {"name": 1}]}'
    result = wire("encode", "--message", "MetadataRequest", "--version", "1", fields)
    assert "topics[1].name: a string" in result.output


def test_an_error_in_a_stream_names_the_line_after_those_before_it() -> None:
    good = json.dumps({"message": "HeartbeatResponse", "version": 0, "hex": "0000"})
    result = wire("decode", "--jsonl", stdin=f"{good}\n\n" + good.replace('"0000"', '"00"'))
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert "line 3: HeartbeatResponse v0: errorCode at byte 0" in result.stderr


def test_a_frame_with_its_length_gets_a_hint() -> None:
    result = wire("decode", "--request", "00000014000c000000000000ffff0001670000000500016d")
    assert result.exit_code == 1
    assert "add --length" in result.output
    wrong = wire("decode", "--request", "--length", "00000099000c")
    assert "the frame says 153 bytes, 2 follow its length" in wrong.output


def test_spans_show_which_bytes_are_which_field() -> None:
    result = wire(
        "decode", "--message", "HeartbeatRequest", "--version", "0", "--spans", "000167000000"
    )
    assert result.exit_code == 1
    assert "     2 67                       groupId = 'g'" in result.stdout
    assert "generationId at byte 3" in result.stderr


def test_the_slow_reader_ends_where_each_vector_ends() -> None:
    for vector in vectors():
        spans = [*walk(message_classes()[vector.message], vector.data, vector.version)]
        assert (spans[-1].end if spans else 0) == len(vector.data), vector


def test_what_is_given_must_be_said_once() -> None:
    assert wire("decode", "00").exit_code == 2
    assert wire("decode", "--request", "--jsonl").exit_code == 2
    assert "neither the JSON nor --message tells" in wire("encode", "{}").output
