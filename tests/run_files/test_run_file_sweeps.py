"""Sweeps as their page says: what is right is read, what is wrong told at its words."""

from __future__ import annotations

import pytest
from run_file import HERE
from sweep_cases import FILE, RIGHT, WRONG, Wrong

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.spans import Source


def errors(form: str) -> list[Diagnostic]:
    text = FILE.replace("@SWEEP", form)
    found = api.check(Source(str(HERE / "changed.lisp"), text)).diagnostics
    return [d for d in found if d.is_error]


@pytest.mark.parametrize("form", RIGHT)
def test_what_a_sweep_may_be(form: str) -> None:
    assert errors(form) == []


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w.form)
def test_what_is_wrong_with_a_sweep_is_told_at_its_words(wrong: Wrong) -> None:
    (told,) = errors(wrong.form)
    assert told.code == wrong.code
    assert told.span is not None
    whole = told.span.text == wrong.marked
    assert whole or (len(wrong.marked) > 3 and told.span.text.startswith(wrong.marked))
    assert wrong.told in f"{told.message} {told.hint}"
