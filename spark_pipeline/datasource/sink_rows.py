"""Rows of a DataFrame as records: which columns there must be, and what is in them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructType,
)

from spark_pipeline.datasource.errors import DataSourceError, OptionError

_TEXT_OR_BYTES: Final = (StringType, BinaryType)
_TYPES: Final = {
    "key": _TEXT_OR_BYTES,
    "value": _TEXT_OR_BYTES,
    "topic": (StringType,),
    "partition": (IntegerType,),
}

HeaderList = list[tuple[str, bytes | None]]


class SinkRow(NamedTuple):
    """One record to write; a partition of None is chosen by the key."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: HeaderList | None
    partition: int | None


def check_schema(schema: StructType, topic: str | None) -> None:
    """Raise unless rows of this schema can be written."""
    names = schema.fieldNames()
    if "value" not in names:
        raise DataSourceError(
            f"column value is missing: the columns are {', '.join(names) or 'none'}"
        )
    if topic is None and "topic" not in names:
        raise OptionError("option topic is missing, and there is no column topic")
    for name, allowed in _TYPES.items():
        if name in names and not isinstance(schema[name].dataType, allowed):
            wanted = " or ".join(kind.typeName() for kind in allowed)
            raise DataSourceError(
                f"column {name} must be {wanted}, not {schema[name].dataType.simpleString()}"
            )
    if "headers" in names and not _is_headers(schema["headers"].dataType):
        raise DataSourceError(
            "column headers must be array<struct<key:string,value:binary>>, not "
            f"{schema['headers'].dataType.simpleString()}"
        )


def _is_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    types = [type(field.dataType) for field in kind.elementType.fields]
    return kind.elementType.fieldNames() == ["key", "value"] and types == [StringType, BinaryType]


def iter_rows(batch: Any, topic: str | None) -> Iterator[SinkRow]:
    """Yield the rows of an Arrow record batch; the option `topic` goes before the column."""
    count = batch.num_rows
    topics = [topic] * count if topic is not None else _column(batch, "topic")
    headers = _column(batch, "headers")
    for number, row in enumerate(
        zip(
            topics,
            map(_bytes, _column(batch, "key")),
            map(_bytes, _column(batch, "value")),
            map(_header_list, headers),
            _column(batch, "partition"),
            strict=True,
        )
    ):
        if row[0] is None:
            raise DataSourceError(f"row {number} of a batch has null in column topic")
        yield SinkRow(*row)


def _column(batch: Any, name: str) -> Sequence[Any]:
    if name not in batch.schema.names:
        return [None] * int(batch.num_rows)
    values: list[Any] = batch.column(name).to_pylist()
    return values


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _header_list(headers: Any) -> HeaderList | None:
    if not headers:
        return None
    return [(header["key"], header["value"]) for header in headers]
