"""What all classes made from tables have in common: construction, comparison, printing."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self

from kafkalike.protocol.table import StructTable


class Struct:
    """A struct of the protocol, or a whole message, for all its versions.

    Attributes are those of the table and can be set freely; an array is a list. What a version
    cannot carry is left out when the struct is encoded in it, and has its default when decoded from
    it. (In Kafka some such fields raise an error instead: which ones is not in the tables.)
    `unknown_tagged_fields` maps tag to bytes for what a newer peer sent and this table does not
    know; it is None when there is nothing, and is encoded again in flexible versions.
    """

    __slots__ = ("unknown_tagged_fields",)
    unknown_tagged_fields: dict[int, bytes] | None

    table: ClassVar[StructTable]
    _struct_types: ClassVar[dict[str, type[Struct]]]  # of the fields that hold one struct
    _shared_default: ClassVar[Struct | None] = None

    def __init__(self, **values: Any) -> None:
        # Most of the classes are never constructed in a process (decoding goes past __init__), so
        # each compiles its own constructor at the first call.
        cls = type(self)
        cls.__init__ = _compile_constructor(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    @classmethod
    def shared_default(cls) -> Self:
        """Return the instance with all defaults that absent fields of this type refer to.

        It is shared and therefore refuses to be changed: assign a new struct to the field instead.
        """
        shared = cls.__dict__.get("_shared_default")
        if shared is None:
            frozen = type(cls.__name__, (cls,), {"__slots__": (), "__setattr__": _refuse_change})
            shared = cls()
            shared.__class__ = frozen
            cls._shared_default = shared
        return shared

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or other.table is not self.table:
            return NotImplemented
        return self.unknown_tagged_fields == other.unknown_tagged_fields and all(
            getattr(self, field.name) == getattr(other, field.name) for field in self.table.fields
        )

    __hash__ = None  # type: ignore[assignment]  # mutable, hence not to be hashed

    def __repr__(self) -> str:
        values = [f"{field.name}={_show(getattr(self, field.name))}" for field in self.table.fields]
        if self.unknown_tagged_fields:
            values.append(f"unknown_tagged_fields={self.unknown_tagged_fields!r}")
        return f"{self.table.name}({', '.join(values)})"


def _show(value: object) -> str:
    """Show bytes by their size only: they may be a secret or a megabyte."""
    return f"<{len(value)} bytes>" if isinstance(value, bytes | memoryview) else repr(value)


def _refuse_change(self: Struct, name: str, _: object) -> NoReturn:
    raise AttributeError(f"{name}: a shared default; assign a new {self.table.name} to the field")


def _compile_constructor(cls: type[Struct]) -> Any:
    names: dict[str, Any] = {"_DEFAULT": object()}
    parameters, body = [], []
    for field in cls.table.fields:
        name = field.name
        if field.is_array and field.default is not None:
            parameters.append(f"{name}=_DEFAULT")
            body.append(f"self.{name} = [] if {name} is _DEFAULT else {name}")
            continue
        body.append(f"self.{name} = {name}")
        if field.struct is not None and not field.is_array:
            names[f"_default_{name}"] = cls._struct_types[name].shared_default()
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(f"{name}={field.default!r}")
    body.append("self.unknown_tagged_fields = None")
    star = "*, " if parameters else ""
    source = f"def __init__(self, {star}{', '.join(parameters)}):\n    " + "\n    ".join(body)
    exec(compile(source, f"<{cls.__name__}.__init__>", "exec"), names)
    return names["__init__"]
