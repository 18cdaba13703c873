"""The facts that a code's page names are those that the sources give (65 A4)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sexpgpu_core.diagnostics import catalogue
from sexpgpu_core.diagnostics.facts import TYPES, facts_line, facts_of

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"[EW](-[A-Z0-9]+){1,3}")
PARTS = {"message", "span", "hint", "edit", "related", "expansion", "scope", "file"}
"""Words of a diagnostic that are no facts."""


def given() -> Iterator[tuple[str, str]]:
    """Codes with a keyword beside them, where a diagnostic or a problem is made."""
    for path in ROOT.glob("sexpgpu_*/sexpgpu_*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS:
                for code in filter(None, map(_code, node.args[:1])):
                    yield from ((code, k.arg) for k in node.keywords if k.arg)


MAKERS = ("diagnostic", "problem")


def _code(node: ast.expr) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and CODE.fullmatch(value) else None


def test_every_fact_that_the_sources_give_is_in_the_table() -> None:
    found = set(given())
    assert len(found) > 300
    lacking = {(code, name) for code, name in found if name not in PARTS | set(facts_of(code))}
    assert lacking == set()


def test_the_table_is_of_known_codes_and_types_in_the_catalogues_order() -> None:
    path = Path(facts_of.__code__.co_filename).with_name("facts.tsv")
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    listed = [code for code, *_ in rows]
    assert listed == [code for code in catalogue() if code in listed]
    for code, *facts in rows:
        assert facts == sorted(facts), code
        for kind in facts_of(code).values():
            assert set(kind.split("|")) <= {*TYPES, "null"}, code


def test_the_line_of_a_page_names_each_with_its_type() -> None:
    assert facts_line("E-SHAPE-MATMUL") == ("Facts: operation (text), shapes (list), sizes (list).")
    assert facts_line("E-INTERNAL-NIX") == ""
