"""Programs with classes and generic functions give what SBCL 2.2.9 prints for them.

A line of `object_programs.tsv` is a program, a tab, and its values.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import MultipleValues

PROGRAMS = Path(__file__).with_name("object_programs.tsv")
ROWS = [line.split("\t") for line in PROGRAMS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("program", "printed"), ROWS, ids=[str(i) for i in range(1, len(ROWS) + 1)]
)
def test_a_program_with_objects_gives_what_sbcl_prints(program: str, printed: str) -> None:
    found = Evaluator().evaluate(program)
    values = found if isinstance(found, MultipleValues) else (found,)
    assert " ; ".join(map(print_text, values)) == printed
