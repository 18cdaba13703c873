"""Texts evaluated in a fresh evaluator, as text or as the code of what went wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.evaluator.evaluator import Evaluator
from sexpgpu_core.evaluator.printer import print_text
from sexpgpu_core.evaluator.values import MultipleValues


@pytest.fixture
def lisp() -> Callable[[str], str]:
    """The printed values of a text, joined by `; `."""
    evaluator = Evaluator()

    def evaluate(text: str) -> str:
        found = evaluator.evaluate(text)
        values = found if found.__class__ is MultipleValues else (found,)
        return "; ".join(print_text(v) for v in values)

    return evaluate


@pytest.fixture
def fault(lisp: Callable[[str], str]) -> Callable[[str], str]:
    """The code of the Problem that a text ends in."""

    def evaluate(text: str) -> str:
        with pytest.raises(Problem) as caught:
            lisp(text)
        return caught.value.diagnostic.code

    return evaluate
