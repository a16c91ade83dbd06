"""Messages as JSON, with Kafka's names of fields, and back.

Bytes and records are `b64:` and base64, a UUID is Kafka's 22 characters, and fields that the
version does not have are left out. What a newer peer sent in tagged fields that our table does not
know is kept under `unknownTaggedFields`, by tag. Going back, fields may be left out and have their
default; anything else that cannot be encoded as it stands is a `ProtocolError` that names it.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkalike.protocol.errors import ProtocolError
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import Field, StructTable

UNKNOWN_TAGS: Final = "unknownTaggedFields"

_BYTES_MARK: Final = "b64:"
_UUID_BYTES: Final = 16
_MAX_STRING_BYTES: Final = 32_767
_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def camel_case(name: str) -> str:
    """Return Kafka's spelling of one of our field names."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def to_json(
    struct: Struct, version: int, show_records: Callable[[memoryview], Any] | None = None
) -> dict[str, Any]:
    """Return what the version carries of a message; `show_records` opens its records."""
    return _Shower(version, show_records or _bytes_to_json).struct(struct)


class _Shower:
    """Shows the structs of one message."""

    def __init__(self, version: int, show_records: Callable[[memoryview], Any]) -> None:
        self._version = version
        self._show_records = show_records

    def struct(self, struct: Struct) -> dict[str, Any]:
        found = {
            camel_case(field.name): self._value(field, getattr(struct, field.name))
            for field in struct.table.fields
            if self._version in field.versions
        }
        if struct.unknown_tagged_fields:
            found[UNKNOWN_TAGS] = {
                str(tag): _bytes_to_json(data) for tag, data in struct.unknown_tagged_fields.items()
            }
        return found

    def _value(self, field: Field, value: Any) -> Any:
        if value is None:
            return None
        if field.is_array:
            return [self._element(field, element) for element in value]
        return self._element(field, value)

    def _element(self, field: Field, value: Any) -> Any:
        if field.struct is not None:
            return self.struct(value)
        if field.type == "records":
            return self._show_records(value)
        if field.type == "bytes":
            return _bytes_to_json(value)
        if field.type == "uuid":
            return base64.urlsafe_b64encode(value).decode().rstrip("=")
        return value


def _bytes_to_json(data: bytes | memoryview) -> str:
    return _BYTES_MARK + base64.b64encode(data).decode()


def from_json(cls: type[Message], fields: Any, version: int) -> Message:
    """Make a message of the fields; `ProtocolError` names the first one that cannot be."""
    made = _Maker(cls._struct_classes, version).struct(cls.table, fields, "")
    assert isinstance(made, cls)
    return made


class _Maker:
    """Makes the structs of one message; `path` says where in it we are."""

    def __init__(self, classes: Mapping[StructTable, type[Struct]], version: int) -> None:
        self._classes = classes
        self._version = version

    def struct(self, table: StructTable, fields: Any, path: str) -> Struct:
        if not isinstance(fields, dict):
            raise ProtocolError(f"{path or table.name}: an object is needed, not {_show(fields)}")
        known = {camel_case(field.name): field for field in table.fields}
        values = {}
        for name, value in fields.items():
            if name == UNKNOWN_TAGS:
                continue
            place = f"{path}.{name}" if path else name
            if name not in known:
                raise ProtocolError(
                    f"{place}: {table.name} has no such field; it has {', '.join(known)}"
                )
            values[known[name].name] = self._value(known[name], value, place)
        made = self._classes[table](**values)
        if UNKNOWN_TAGS in fields:
            made.unknown_tagged_fields = _tags(fields[UNKNOWN_TAGS], path)
        return made

    def _value(self, field: Field, value: Any, path: str) -> Any:
        if self._version not in field.versions:
            raise ProtocolError(
                f"{path}: not a field of version {self._version}, "
                f"but of {_show_versions(field.versions)}"
            )
        if value is None:
            # Records may be absent in every version (Kafka's own codecs do not look).
            if self._version not in field.nullable and field.type != "records":
                raise ProtocolError(f"{path}: version {self._version} does not allow null")
            return None
        if not field.is_array:
            return self._element(field, value, path)
        if not isinstance(value, list):
            raise ProtocolError(f"{path}: an array is needed, not {_show(value)}")
        return [self._element(field, item, f"{path}[{i}]") for i, item in enumerate(value)]

    def _element(self, field: Field, value: Any, path: str) -> Any:
        if field.struct is not None:
            return self.struct(field.struct, value, path)
        return _primitive(field.type, value, path)


def _primitive(type_: str, value: Any, path: str) -> Any:
    if type_ in ("bytes", "records"):
        return _bytes_from_json(value, path)
    if type_ == "uuid":
        return _uuid_from_json(value, path)
    if type_ == "bool":
        return _checked(value, isinstance(value, bool), "true or false", path)
    if type_ == "string":
        is_string = isinstance(value, str) and len(value.encode()) <= _MAX_STRING_BYTES
        return _checked(value, is_string, f"a string of at most {_MAX_STRING_BYTES} bytes", path)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if type_ == "float64":
        return float(_checked(value, is_number or isinstance(value, float), "a number", path))
    low, high = _bounds(type_)
    fits = is_number and low <= value <= high
    return _checked(value, fits, f"a whole number from {low} to {high} ({type_})", path)


def _bounds(type_: str) -> tuple[int, int]:
    if type_ == "uint16":
        return 0, (1 << 16) - 1
    half = 1 << (_BITS[type_] - 1)
    return -half, half - 1


def _checked(value: Any, is_good: bool, what: str, path: str) -> Any:
    if not is_good:
        raise ProtocolError(f"{path}: {what} is needed, not {_show(value)}")
    return value


def _bytes_from_json(value: Any, path: str) -> bytes:
    if isinstance(value, str) and value.startswith(_BYTES_MARK):
        try:
            return base64.b64decode(value[len(_BYTES_MARK) :], validate=True)
        except binascii.Error as error:
            raise ProtocolError(f"{path}: {_show(value)}: {error}") from None
    raise ProtocolError(f"{path}: bytes are written as {_BYTES_MARK}…, not {_show(value)}")


def _uuid_from_json(value: Any, path: str) -> bytes:
    try:
        data = base64.b64decode(f"{value}==", altchars=b"-_", validate=True)
    except binascii.Error:
        data = b""
    return bytes(_checked(data, len(data) == _UUID_BYTES, "a UUID of 22 characters", path))


def _tags(tags: Any, path: str) -> dict[int, bytes]:
    place = f"{path}.{UNKNOWN_TAGS}" if path else UNKNOWN_TAGS
    if not isinstance(tags, dict) or not all(tag.isdigit() for tag in tags):
        raise ProtocolError(f"{place}: an object by tag is needed, not {_show(tags)}")
    return {int(tag): _bytes_from_json(data, f"{place}.{tag}") for tag, data in tags.items()}


def _show_versions(versions: range) -> str:
    is_open = versions.stop > 32_767
    return f"{versions.start}+" if is_open else f"{versions.start}-{versions.stop - 1}"


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
