"""What runs are ranked by: the same for another model, another for another judgement."""

from __future__ import annotations

from typing import Any

import pytest

from sexpgpu_core import api
from sexpgpu_core.spans import Source

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_cpu", reason="what is compiled here is for its devices")

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob width 8 "Units." :type (integer 1))
(defknob rows 32 "Rows." :type (integer 1))
(defloader d
  (source (digits))
  (stage :train :split (0 0.5))
  (stage :val :split (0.5 0.75))
  (stage :rest :split (0.75 1))
  (batch rows))
(defmodel net (x) (nn:linear (dropout (relu (nn:linear (cast x :f32) width)) 0.1) 10))
(defmodel judge (x label) (nn:cross-entropy (net x) label))
(defun objective (&key image label) (metric "loss" (nn:cross-entropy (net image) label)))
(defeval val :loader (d :val) :every 10)
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-3))))
(defrun :steps 20 :seed 7)
"""
LOSS = '(metric "loss" (nn:cross-entropy (net image) label))'


def summary(text: str = FILE, sets: tuple[tuple[str, str], ...] = (), **more: Any) -> Any:
    report = api.check(Source("x.lisp", text), sets=sets, **more)
    assert report.summary is not None, report.diagnostics
    return report.summary


@pytest.fixture(scope="module")
def plain() -> Any:
    return summary()


@pytest.mark.parametrize(
    ("text", "sets", "more"),
    [
        (FILE, (("width", "16"),), {}),
        (FILE, (("rows", "48"),), {}),
        (FILE, (), {"seed": 8}),
        (FILE, (), {"steps": 30}),
        (FILE.replace(":seed 7", ":seed 7 :precision :bf16"), (), {}),
        (FILE.replace("1e-3", "2e-3"), (), {}),
        (FILE.replace("(relu ", "(tanh "), (), {}),
    ],
)
def test_another_model_is_judged_alike(
    plain: Any, text: str, sets: tuple[tuple[str, str], ...], more: dict[str, Any]
) -> None:
    found = summary(text, sets, **more)
    assert found["evaluation_ids"] == plain["evaluation_ids"]
    assert found["experiment_id"] != plain["experiment_id"]


@pytest.mark.parametrize(
    "text",
    [
        FILE.replace(LOSS, '(metric "loss" (* 2.0 (nn:cross-entropy (net image) label)))'),
        FILE.replace(LOSS, '(metric "loss" (mean (square (- (net image) 1.0))))'),
        FILE.replace("(d :val)", "(d :rest)"),
        FILE.replace("(0.5 0.75)", "(0.5 0.8)"),
        FILE.replace(":every 10)", ":every 5)"),
        FILE.replace(":every 10)", ":every 10 :batches 3)"),
    ],
)
def test_another_judgement_has_another_id(plain: Any, text: str) -> None:
    assert text != FILE
    assert summary(text)["evaluation_ids"] != plain["evaluation_ids"]


def test_what_a_model_judges_itself_is_in_the_id_whole() -> None:
    inside = FILE.replace("(nn:cross-entropy (net image) label)", "(judge image label)")
    ids = {
        tuple(summary(text, sets)["evaluation_ids"].values())
        for text in (inside, inside.replace("(nn:cross-entropy (net x) label)",
                                            "(* 2.0 (nn:cross-entropy (net x) label))"))
        for sets in ((), (("width", "16"),))
    }  # fmt: skip
    assert len(ids) == 4


def test_the_hash_of_the_training_ir_is_of_no_seed_no_steps_and_no_data(plain: Any) -> None:
    for more in ({"seed": 8}, {"steps": 30}):
        assert summary(**more)["ir_sha256"] == plain["ir_sha256"]
    other = FILE.replace("(0 0.5)", "(0 0.4)")
    assert summary(other)["ir_sha256"] == plain["ir_sha256"]
    assert summary(other)["experiment_id"] != plain["experiment_id"]
    wide = summary(sets=(("width", "16"),))
    assert wide["ir_sha256"] != plain["ir_sha256"]


def test_a_selection_is_kept_as_it_prints() -> None:
    given = {
        **{"width": "#x10", "rate": "3E-3", "kind": " :AdamW ", "sizes": "( 1 2 )"},
        **{"on": "nil", "off": "()"},
    }
    head = """(defknob rate 1e-3 "R.") (defknob kind :sgd "K.") (defknob sizes '(3) "S.")
(defknob on t "O.") (defknob off t "O.")
"""
    source = Source("x.lisp", FILE.replace("(defknob", f"{head}(defknob", 1))
    chosen = api.load(source, sets=list(given.items())).experiment.chosen()
    assert chosen["set"] == {
        **{"width": "16", "rate": "0.003", "kind": ":adamw", "sizes": "(1 2)"},
        **{"on": "nil", "off": "nil"},
    }
    again = api.load(source, sets=list(chosen["set"].items())).experiment.chosen()
    assert again["set"] == chosen["set"]
