"""A sample of the forms on which SBCL and this evaluator agree; all of them: nox -s lisp-fuzz."""

from __future__ import annotations

import shutil

import lisp_fuzz
import pytest


@pytest.mark.skipif(shutil.which("sbcl") is None, reason="sbcl is not installed")
def test_random_forms_have_the_values_that_sbcl_gives() -> None:
    assert list(lisp_fuzz.differences(300, 0)) == []


def test_every_hole_of_a_form_names_a_type() -> None:
    for rows in lisp_fuzz.ROWS.values():
        for row in rows:
            for kind, binds in row.holes:
                assert {kind, *(of.rstrip("!") for _, of in binds)} <= set(lisp_fuzz.ROWS)


def test_a_seed_gives_one_form() -> None:
    assert lisp_fuzz.form_of(7).text == lisp_fuzz.form_of(7).text
