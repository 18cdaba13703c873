"""Options by other frameworks' words, and options of one form written in another: what is told."""

from __future__ import annotations

import pytest
from staging_case import faults, whole

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.staging import option_habits
from sexpgpu_core.staging.forms.loaders import CLAUSES
from sexpgpu_core.staging.forms.optimizers import GROUPS_OPTIONS

GROUPS = "(defun optimizer () (groups {} (group :rest (optim:adamw :lr 1e-3))))\n"
STAGES = "(defloader data (source (digits)) (stage :train {}) (stage :val :split (0.8 1)) {})\n"


def told(**parts: str) -> Diagnostic:
    return next(d for d in faults(whole(**parts)) if d.code == "E-OPTION")


@pytest.mark.parametrize(
    ("parts", "new"),
    [
        ({"run": "(defrun :max-steps 10)"}, ":steps"),
        ({"run": "(defrun :steps 10 :gradient_accumulation_steps 4)"}, ":microbatches"),
        ({"run": "(defrun :steps 10 :random-state 4)"}, ":seed"),
        ({"loader": STAGES.format(":shuffle t", "(batch 8)")}, ":order"),
        ({"loader": STAGES.format("", "(batch-size 8)")}, "batch"),
        ({"passes": "(defeval val :loader (data :val) :eval-every 10)"}, ":every"),
        ({"optimizer": GROUPS.format(":max-grad-norm 1.0")}, ":clip-norm"),
    ],
)
def test_a_word_of_another_framework_is_mended(parts: dict[str, str], new: str) -> None:
    found = told(**parts)
    assert new in (found.hint or "")
    if "optimizer" not in parts:  # a call's options have their edit from the hint's words
        assert found.edit is not None
        assert [c.new for c in found.edit.changes] == [new]


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"run": "(defrun :steps 10 :clip-norm 1.0)"}, "(groups :clip-norm 1.0"),
        ({"run": "(defrun :steps 10 :batch-size 8)"}, "that is :batch; it belongs to a loader"),
        ({"run": "(defrun :steps 10 :learning-rate 1e-3)"}, "(optim:adamw :lr"),
        ({"run": "(defrun :steps 10 :eval-every 5)"}, "(defeval val"),
        ({"run": "(defrun :steps 10 :patience 5)"}, "curriculum"),
        ({"loader": STAGES.format("", "(batch 8) (shuffle t)")}, ":order :shuffled"),
        ({"passes": "(defeval val :loader (data :val) :batch 4)"}, "(batch 32)"),
        ({"optimizer": GROUPS.format(":weight-decay 0.1")}, "(optim:adamw :weight-decay"),
    ],
)
def test_an_option_of_another_form_is_told_where_it_stands(
    parts: dict[str, str], place: str
) -> None:
    found = told(**parts)
    assert place in (found.hint or "")
    assert found.edit is None


def test_the_words_are_of_options_that_there_are() -> None:
    known = {*CLAUSES, *GROUPS_OPTIONS, "order", "split", "every", "lr", "weight-decay"}
    run = "steps epochs seed precision microbatches log-every checkpoint deadline device"
    assert set(option_habits.SAME) <= known | set(run.split())
    assert set(option_habits.FOUND.values()) <= set(option_habits.WHERE)
