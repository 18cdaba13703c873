"""Groups and selectors as their page says: what is right is read, what is wrong is told there."""

from __future__ import annotations

import pytest
from group_cases import ADAM, FILE, RIGHT, WRONG, Wrong
from run_file import HERE

from sexpgpu_core import api
from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.spans import Source


def errors(form: str) -> list[Diagnostic]:
    text = FILE.replace("@GROUPS", form)
    found = api.check(Source(str(HERE / "changed.lisp"), text)).diagnostics
    return [d for d in found if d.is_error]


@pytest.mark.parametrize("form", RIGHT)
def test_what_optimizer_may_return(form: str) -> None:
    assert errors(form) == []


def test_a_group_that_is_due_after_the_last_step_is_told_at_its_offset() -> None:
    text = FILE.replace("@GROUPS", f"(groups (group :rest {ADAM} :every 9 :offset 4))")
    for steps, marked in ((4, ["4"]), (5, [])):
        said = api.check(Source("x.lisp", text.replace(":steps 4", f":steps {steps}"))).diagnostics
        assert [d.span and d.span.text for d in said if d.code == "W-SCHEDULE"] == marked


@pytest.mark.parametrize("wrong", WRONG, ids=lambda w: w.form)
def test_what_is_wrong_with_groups_is_told_at_its_form(wrong: Wrong) -> None:
    (told,) = errors(wrong.form)
    assert told.code == wrong.code
    assert told.span is not None
    assert told.span.text.startswith(wrong.marked)
    assert wrong.told in f"{told.message} {told.hint}"
    assert " object at 0x" not in told.message
