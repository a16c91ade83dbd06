"""The project's own source, parsed: what the tests of the house rules look at."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "kafkalike"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One module of the package."""

    path: Path
    name: str  # dotted
    source: str
    tree: ast.Module

    @property
    def place(self) -> str:
        """The path below the package, such as "zk/bridge.py"."""
        return self.path.relative_to(PACKAGE).as_posix()

    @property
    def layer(self) -> str:
        """The first folder below the package."""
        return self.place.split("/")[0]

    def imports(self) -> Iterator[tuple[str, ast.stmt]]:
        """Yield all that is imported anywhere in the module: "a.b" and "a.b.name"."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module, node
                yield from ((f"{node.module}.{alias.name}", node) for alias in node.names)

    def strings(self) -> Iterator[str]:
        """Yield all string constants."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    def names(self) -> Iterator[tuple[str, int]]:
        """Yield every dotted name that the code uses ("time.time"), with its line."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute | ast.Name):
                dotted = ast.unparse(node)
                if all(part.isidentifier() for part in dotted.split(".")):
                    yield dotted, node.lineno


def modules() -> list[Module]:
    """Return all modules of the package, `__init__` ones included."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        source = path.read_text()
        name = ".".join(parts).removesuffix(".__init__")
        found.append(Module(path=path, name=name, source=source, tree=ast.parse(source)))
    return found


def text_files() -> list[Path]:
    """Return the files that people wrote: no golden data, no virtual environment, no caches."""
    folders = ("kafkalike", "zk_schemas", "spark_pipeline", "scripts", "tests", "docs", "compose")
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in (*folders, ".ci"):
        found += [path for path in (ROOT / folder).rglob("*") if path.is_file()]
    skipped = ("tests/golden", "__pycache__")
    return [
        path
        for path in sorted(found)
        if not any(part in path.relative_to(ROOT).as_posix() for part in skipped)
        and path.suffix not in {".pyc", ".png"}
    ]
