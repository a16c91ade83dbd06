"""docs/requirements.md tells the truth about which test proves which row."""

import ast

import pytest

from tests.support import requirements

DOCUMENT = requirements.DOCUMENT.read_text()

# The rows that nothing proves yet; a row that has its test leaves this list.
NOT_YET = (
    "M72",
    "M75",
    "M76",
    "M77",
    "M78",
    "M79",
    "M80",
)
DUE = [row for row in requirements.row_ids(DOCUMENT) if row not in NOT_YET]

EXAMPLE = """\
| ID | Requirement | How it is checked |
|---|---|---|
| M1 | It persists | kill it |
| M2 | It has a check of its own |  |
"""


def test_document_has_all_84_rows_once() -> None:
    assert requirements.row_ids(DOCUMENT) == [f"M{number}" for number in range(1, 85)]


def test_every_row_that_a_test_names_exists() -> None:
    unknown = {
        row: tests
        for row, tests in requirements.collect().items()
        if row not in requirements.row_ids(DOCUMENT)
    }
    assert not unknown


def test_column_is_what_the_tests_say() -> None:
    filled = requirements.fill(DOCUMENT, requirements.collect())
    assert filled == DOCUMENT, "run scripts/requirements"


def test_tests_in_the_column_exist_and_name_their_row() -> None:
    for row, tests in requirements.proofs_in(DOCUMENT).items():
        for test in tests:
            path, name = test.split("::")[0], test.split("::")[-1]
            found = {
                node.name: node
                for node in ast.walk(ast.parse((requirements.ROOT / path).read_text()))
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            }[name]
            claim = f"{found.name.upper()} {ast.get_docstring(found)}"
            assert row in claim, f"{test} does not name {row}"


@pytest.mark.parametrize("row", DUE)
def test_row_that_is_due_has_a_test(row: str) -> None:
    assert requirements.proofs_in(DOCUMENT).get(row), f"no test names {row} (scripts/requirements)"


def test_fill_adds_the_column_and_can_be_repeated() -> None:
    proofs = {"M1": ["tests/unit/test_a.py::test_b"], "M2": [f"tests/x::{n}" for n in range(6)]}
    once = requirements.fill(EXAMPLE, proofs)
    assert once.splitlines()[0] == "| ID | Requirement | How it is checked | Proved by |"
    assert once.splitlines()[2] == "| M1 | It persists | kill it | `tests/unit/test_a.py::test_b` |"
    assert once.splitlines()[3].endswith("`tests/x::3`<br>and 2 more |")
    assert requirements.fill(once, proofs) == once
    assert requirements.proofs_in(once)["M1"] == ["tests/unit/test_a.py::test_b"]
    assert "test_b" not in requirements.fill(once, {})
