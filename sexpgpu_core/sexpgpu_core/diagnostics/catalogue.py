"""Every code with severity, phase, title, meaning and fix: `codes.tsv` and what plug-ins add."""

from __future__ import annotations

from pathlib import Path

from ..records import NamedTuple

PHASES = [
    "usage",
    "reader",
    "modules",
    "knobs",
    "evaluator",
    "run-file",
    "data",
    "staging",
    "tensors",
    "parameters",
    "optimizer",
    "evaluation",
    "trust",
    "device",
    "run",
    "checkpoint",
    "plugins",
    "limits",
    "internal",
]


class Code(NamedTuple):
    """A row of the catalogue. `edit`: whether a machine-applicable edit may come with it."""

    code: str
    severity: str
    phase: str
    title: str
    meaning: str
    fix: str
    edit: bool


_table: dict[str, Code] = {}


def catalogue() -> dict[str, Code]:
    """All codes by name, read on first use."""
    if not _table:
        text = (Path(__file__).parent / "codes.tsv").read_text(encoding="utf-8")
        for line in text.splitlines()[1:]:
            code, severity, phase, title, meaning, fix, edit = line.split("\t")
            _table[code] = Code(code, severity, phase, title, meaning, fix, edit == "yes")
    return _table


def lookup(code: str) -> Code:
    """The row of a code; a code that is not there is a bug of the caller (KeyError)."""
    return catalogue()[code]


def add_codes(rows: list[Code]) -> None:
    """Codes of plug-ins; a code is never redefined."""
    table = catalogue()
    for row in rows:
        table.setdefault(row.code, row)
