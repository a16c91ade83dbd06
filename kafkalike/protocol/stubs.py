"""Writes the type stubs of the message modules: `python -m kafkalike.protocol.stubs`.

The classes of `messages` exist only once their table is read, so mypy and editors are told of them
by a `.pyi` beside each module. A test holds the stubs against the tables.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from kafkalike.protocol import messages
from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct
from kafkalike.protocol.table import Field

_HEAD: Final = """\
# Written by `python -m kafkalike.protocol.stubs` from the table of this module.
# Arrays of structs are lists. Other arrays are lists when decoded and may be any sequence when
# encoded. Records are memoryviews when decoded and may be anything with a length when encoded.
from collections.abc import Sequence, Sized
from typing import Any

from kafkalike.protocol.schema import Message
from kafkalike.protocol.structs import Struct

TABLE: str
"""
_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Any",
}


def stubs() -> Iterator[tuple[Path, str]]:
    """Yield path and content of the stub of every module of `messages`."""
    for module in pkgutil.iter_modules(messages.__path__):
        path = Path(messages.__path__[0], module.name).with_suffix(".pyi")
        yield path, _stub(f"{messages.__name__}.{module.name}")


def _stub(module_name: str) -> str:
    classes = [
        value
        for value in vars(import_module(module_name)).values()
        if isinstance(value, type) and issubclass(value, Struct)
    ]
    return "\n".join([_HEAD, *(_class(cls) for cls in classes)])


def _class(cls: type[Struct]) -> str:
    base = "Message" if issubclass(cls, Message) else "Struct"
    attributes = [f"    {field.name}: {_type(field)}" for field in cls.table.fields]
    parameters = [
        f"        {field.name}: {_parameter_type(field)} = ...," for field in cls.table.fields
    ]
    star = ["        *,"] if parameters else []
    lines = [f"class {cls.__name__}({base}):", *attributes]
    lines += ["    def __init__(", "        self,", *star, *parameters, "    ) -> None: ...", ""]
    return "\n".join(lines)


def _type(field: Field) -> str:
    name = field.type if field.struct is not None else _TYPES.get(field.type, "int")
    if field.is_array:
        name = f"list[{name}]" if field.struct is not None else f"Sequence[{name}]"
    return f"{name} | None" if field.nullable else name


def _parameter_type(field: Field) -> str:
    return _type(field).replace("Any", "Sized")


def main() -> None:
    """Write all stubs."""
    for path, content in stubs():
        path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
