"""Which test proves which row of docs/requirements.md: collected from the tests, written there.

A test proves a row when its name or docstring has the row's id: `"M4: every entry ..."` or
`test_m4_every_entry`. `scripts/requirements` fills the column; a unit test keeps it true.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/requirements.md"
COLUMN = "Proved by"

_SHOWN = 4
_ID_IN_TEXT = re.compile(r"\bM([1-9]\d?)\b")
_ID_IN_NAME = re.compile(r"(?<=_)m([1-9]\d?)(?=_|$)")
# Tests that use the system from outside are the better proof: they are named first.
_KINDS = ("integration", "conformance", "chaos", "spark", "simulation", "unit")

# row id -> test ids ("tests/unit/log/test_log.py::test_name")
Proofs = Mapping[str, Sequence[str]]


def collect(root: Path = ROOT) -> Proofs:
    """Return the tests that name each row id, those from outside the code first."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted((root / "tests").rglob("test_*.py")):
        relative = path.relative_to(root).as_posix()
        for name, ids in _tests_in(path.read_text()):
            for row in ids:
                found[row].append(f"{relative}::{name}")
    return {row: sorted(tests, key=_rank) for row, tests in found.items()}


def _rank(test: str) -> tuple[int, str]:
    kind = test.split("/")[1]
    return (_KINDS.index(kind) if kind in _KINDS else len(_KINDS), test)


def _tests_in(source: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each test and the row ids that it names."""
    module = ast.parse(source)
    scopes: list[tuple[str, ast.Module | ast.ClassDef]] = [("", module)]
    scopes += [(f"{node.name}::", node) for node in module.body if isinstance(node, ast.ClassDef)]
    for prefix, scope in scopes:
        for node in scope.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if not node.name.startswith("test"):
                    continue
                numbers = _ID_IN_TEXT.findall(ast.get_docstring(node) or "")
                numbers += _ID_IN_NAME.findall(node.name)
                yield prefix + node.name, sorted({f"M{number}" for number in numbers})


def row_ids(document: str) -> list[str]:
    """Return the ids of all rows of the document, in its order."""
    return re.findall(r"^\| (M\d+) \|", document, re.MULTILINE)


def proofs_in(document: str) -> dict[str, list[str]]:
    """Return what the document says: the tests in the last cell of each row."""
    rows = re.findall(r"^\| (M\d+) \|.*\| ([^|]*) \|$", document, re.MULTILINE)
    return {row: re.findall(r"`(tests/[^`]+)`", cell) for row, cell in rows}


def fill(document: str, proofs: Proofs) -> str:
    """Return the document with its last column made from `proofs`."""
    lines: list[str] = []
    for line in document.splitlines():
        cells = line.removeprefix("| ").removesuffix(" |").split(" | ")
        if cells[:3] == ["ID", "Requirement", "How it is checked"]:
            line = f"| {' | '.join([*cells[:3], COLUMN])} |"
        elif line.startswith("|---|---|---") and lines and lines[-1].startswith("| ID |"):
            line = "|---|---|---|---|"
        elif re.match(r"\| M\d+ \|", line):
            # The third cell may be empty, which leaves no " | " to split at.
            row, requirement, check = re.split(r" \| ?", line.removeprefix("| "))[:3]
            line = f"| {row} | {requirement} | {check.removesuffix('|').strip()} | "
            line += f"{_cell(proofs.get(row, ()))} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def _cell(tests: Sequence[str]) -> str:
    shown = [f"`{test}`" for test in tests[:_SHOWN]]
    if len(tests) > _SHOWN:
        shown.append(f"and {len(tests) - _SHOWN} more")
    return "<br>".join(shown)


def main() -> None:
    """Write the column and say which rows have no proof yet."""
    document, proofs = DOCUMENT.read_text(), collect()
    DOCUMENT.write_text(fill(document, proofs))
    missing = [row for row in row_ids(document) if row not in proofs]
    print(f"{len(proofs)} rows proved; without a test: {' '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()
