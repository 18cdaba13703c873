"""Every macro and special form ends in a diagnostic or a value, whatever its operands are."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.evaluator.evaluator import Evaluator, Limits
from sexpgpu_core.evaluator.expansion import SPECIAL_FORMS
from sexpgpu_core.evaluator.places import PLACES
from sexpgpu_core.spans import Source
from sexpgpu_core.staging import declare

DEFINED = declare.DEFINED
"""The forms of run files too: imported for what they define."""

OPERANDS = (
    "", "1", "x", "(x)", "((x))", "((x 1))", "(((x)) 1)", "((((y)) 1)) ()", "(3) 1", "x 1 2",
    "\"s\" (1 . 2)", "x (y) . z", ":k", "nil nil nil nil", "(x 1 2 3) (4)", "x () (:k)", "'x 'y",
    "(&rest) 1", "a (&key #\\b) (x)",
    "a (&key ((:k))) (x)", "a (&optional 3 . 4) (x)",
    "(x &key)", "t (otherwise 1) (t 2)", "((1 2) (3 . 4)) (5)", "#(1) \"a\" #\\b",
)  # fmt: skip
"""Operands of no form in particular."""

LIMITS = Limits(steps=20_000, depth=300)


def names() -> list[str]:
    evaluator = Evaluator()
    macros = {symbol.name for symbol in evaluator.macros}
    from sexpgpu_core.evaluator.definitions import BODY_MACROS, NATIVE_MACROS

    known = {*SPECIAL_FORMS, *NATIVE_MACROS, *BODY_MACROS, *macros}
    return sorted(name for name in known if not name.startswith("%"))  # those are expansions' own


@pytest.mark.parametrize("name", sorted(PLACES))
def test_a_place_of_any_operands_ends_in_a_diagnostic_or_a_value(name: str) -> None:
    for operands in OPERANDS:
        for text in (
            f"(setf ({name.lower()} {operands}) 1)",
            f"(incf ({name.lower()} {operands}))",
        ):
            found = [d.message for d in ended(text) if d.code == "E-INTERNAL"]
            assert not found, (text, found)


def ended(text: str) -> list[Diagnostic]:
    evaluator = Evaluator(limits=LIMITS)
    try:
        evaluator.load(Source("f.lisp", text))
    except Problem as error:
        return [error.diagnostic]
    except Problems as errors:
        return errors.diagnostics
    return []


@pytest.mark.parametrize("name", names())
def test_a_form_of_any_operands_ends_in_a_diagnostic_or_a_value(name: str) -> None:
    for operands in OPERANDS:
        text = f"({name.lower()} {operands})"
        found = [d.message for d in ended(text) if d.code == "E-INTERNAL"]
        assert not found, (text, found)
