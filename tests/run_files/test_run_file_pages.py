"""What the settled pages say of a run file, tried as a user does: with what is right, and wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from run_file import HERE, events
from settled_rules import RULES

from sexpgpu_core import api, inspection, trained
from sexpgpu_core.diagnostics import Diagnostic, Problem, Problems
from sexpgpu_core.diagnostics.catalogue import lookup
from sexpgpu_core.runtime import runs
from sexpgpu_core.spans import Source

ROOT = Path(__file__).parents[2]
HEAD = '(require "sexpgpu/nn")\n(require "sexpgpu/optim")\n'
DIGITS = "(defloader d (source (digits)) (stage :train :split (0 0.8)) (stage :val :split (0.8 1))"
DIGITS += " (batch 16))\n"
NET = "(defmodel net (x) (nn:linear x 10))\n"
LOSS = """(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
"""
ADAM = "(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))\n"
EMA = ADAM.replace("(groups ", "(groups :ema 0.9 ")
RUN = "(defrun :steps 4 :seed 1 :checkpoint (:every 4))\n"


def said(text: str, folder: Path | None = None) -> list[Diagnostic]:
    name = str((folder or HERE) / "changed.lisp")
    return list(api.check(Source(name, text)).diagnostics)


def codes(text: str, folder: Path | None = None) -> list[str]:
    return [d.code for d in said(text, folder)]


def mended(text: str, found: Diagnostic) -> str:
    assert found.edit is not None
    for span, new in sorted(found.edit.changes, key=lambda c: -c[0].start):
        text = text[: span.start] + new + text[span.end :]
    return text


# The rules, each by what holds it


def test_each_settled_rule_is_held_by_tests_that_exist() -> None:
    assert list(RULES) == list(range(1, 51))
    here: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        here.update(re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M))
    pages = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for number, held in RULES.items():
        words = held.split()
        assert len(words) == len(set(words)), number
        assert any(word.startswith("test_") for word in words), number
        for word in words:
            if word.startswith("test_"):
                assert word in here, (number, word)
            else:
                assert lookup(word).code == word
                assert f"### {word}\n" in pages


# R36: averaged weights


@pytest.mark.parametrize("form", ["output", "pass"])
def test_averages_are_read_in_an_output_and_missed_where_none_are(
    form: str, tmp_path: Path
) -> None:
    evaluate = '(defun evaluate (&key image label)\n  (metric "loss" (nn:cross-entropy'
    evaluate += " (with-weights :ema (net image)) label)))\n(defeval val :loader (d :val))\n"
    output = "(defoutput o (&key image) (batch :live (net image)"
    output += " :mean (with-weights :ema (net image))))\n"
    parts = ("", output) if form == "output" else (evaluate, "")
    text = HEAD + DIGITS + NET + LOSS + parts[0] + ADAM + parts[1] + RUN
    (found,) = said(text)
    assert found.code == "E-EMA-MISSING"
    assert found.span is not None
    assert found.span.text.startswith("(with-weights")
    assert codes(text.replace(ADAM, EMA)) == []
    if form == "output":
        file = tmp_path / "it.lisp"
        file.write_text(text.replace(ADAM, EMA), encoding="utf-8")
        done = api.run(file, runs_root=tmp_path, name="it")
        assert done.exit == 0, done.error
        run, saved = runs.save(tmp_path, "it")
        image = np.random.default_rng(2).random((3, 64)).astype(np.float32)
        given = {}
        for weights in ("live", "ema"):
            with trained.model(run, saved, file=file, weights=weights) as model:
                given[weights] = model.predict("o", image=image)
        assert np.array_equal(given["live"]["mean"], given["ema"]["live"])
        assert not np.allclose(given["live"]["mean"], given["live"]["live"])


# R24: data that is one thing


GRAPH = (HERE / "graph.lisp").read_text(encoding="utf-8")


def graph(folder: Path) -> None:
    rng = np.random.default_rng(3)
    x, label = rng.normal(size=(6, 8)).astype(np.float32), np.repeat([0, 1], 3).astype(np.int32)
    split = np.array([0, 0, 0, 1, 1, 1], np.int32)
    np.savez(folder / "graph.npz", x=x, edges=np.eye(6, dtype="f4"), label=label, split=split)


def test_masks_of_one_thing_are_held_apart(tmp_path: Path) -> None:
    graph(tmp_path)
    assert codes(GRAPH, tmp_path) == []
    (found,) = said(GRAPH.replace("(split 1)", "(split 0)"), tmp_path)
    assert found.code == "W-SPLIT-OVERLAP"
    assert "what the mask (split 0) marks" in found.message
    file = tmp_path / "graph.lisp"
    file.write_text(GRAPH.replace("(split 1)", "(split 7)"), encoding="utf-8")
    done = api.run(file, runs_root=tmp_path)
    assert done.error is not None
    assert done.error.code == "E-DATA-SMALL"
    assert "(split 7) marks none of 6 rows" in done.error.message


# R25, R26, R6, R7, R47: loaders, fields and what a pass knows


STAGES = """(defloader d (source (npz "a.npz"))
  (stage :train :split (0 0.5)) (stage :val :source (npz "b.npz") :batch 4)
  (stage :own :split (0.5 1) :batch 10)
  (batch 8) (counter :seen (* 2 (ctx :batch))))
(defun prepare (&key x y (z nil z-given))
  (declare (ignore z))
  (batch :x x :y y :w (if z-given 1.0 (sum (square x) :axis 1))))
(defmodel net (x) (nn:linear x 2))
(defun objective (&key x y w) (metric "loss" (mean (* w (cross-entropy (net x) y)))))
(defun evaluate (&key x y w)
  (metric (if (ctx :pass) "loss" "none")
    (* (if (equal (ctx :stage) :val) 100 1) (mean (* w (cross-entropy (net x) y))))))
(defeval val :loader (d :val) :every 2 :at (0 :end))
(defeval own :loader (d :own) :every 2)
"""
OUTPUT = "(defoutput o (&key x) (* (if (ctx :stage) 0 1) (if (ctx :pass) 0 1) (net x)))\n"


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stages")
    for name, n in (("a", 40), ("b", 24)):
        x = np.random.default_rng(n).normal(size=(n, 4)).astype(np.float32)
        np.savez(folder / f"{name}.npz", x=x, y=np.arange(n, dtype=np.int32) % 2)
    text = HEAD + STAGES + ADAM + OUTPUT + RUN.replace(":steps 4", ":steps 5")
    (folder / "it.lisp").write_text(text, encoding="utf-8")
    done = api.run(folder / "it.lisp", runs_root=folder, name="it")
    assert done.exit == 0, done.error
    return folder


def test_a_stage_has_a_source_and_a_batch_of_its_own(stages: Path) -> None:
    loader = api.load(stages / "it.lisp").loaders["d"]
    assert {s: (loader.examples(s), loader.rows(s)) for s in ("train", "val", "own")} == {
        "train": (20, 8), "val": (24, 4), "own": (20, 10)
    }  # fmt: skip
    found = [b["x"] for b in loader.evaluation("val")]
    assert np.array_equal(np.concatenate(found), np.load(stages / "b.npz")["x"])


def test_a_counter_is_of_its_stage(stages: Path) -> None:
    told = events(stages / "it", "step")[-1]
    assert told["counters"]["seen"] == 5 * 16


def test_a_pass_knows_its_own_stage_and_an_output_none(stages: Path) -> None:
    done = events(stages / "it", "eval")
    assert [(e["pass"], e["step"]) for e in done] == [
        ("val", 0), ("val", 2), ("own", 2), ("val", 4), ("own", 4), ("val", 5)
    ]  # fmt: skip
    last = {e["pass"]: e["metrics"][f"{e['pass']}/loss"] for e in done}
    assert last["val"] > 20 * last["own"]
    run, saved = runs.save(stages, "it")
    with trained.model(run, saved, file=stages / "it.lisp") as model:
        assert np.any(model.predict("o", x=np.load(stages / "a.npz")["x"])["o"])
    text = HEAD + STAGES.replace("(ctx :pass)", "(ctx :pas)") + ADAM + RUN
    assert codes(text, stages)[0] == "E-CTX-KEY"


def test_a_field_with_a_default_need_not_be_there(stages: Path) -> None:
    text = HEAD + STAGES + ADAM + RUN
    assert codes(text, stages) == []
    needed = text.replace("(z nil z-given)", "z").replace("(if z-given 1.0 (sum", "(progn (sum")
    assert codes(needed, stages) == ["E-FIELD"]


REST = """(defun prepare (&key image &rest m)
  (batch :image (* 0.5 image) :label (getf m :label) :given (scalar-count m)))
(defun scalar-count (m) (tensor (length m)))
"""


def test_rest_of_prepare_takes_every_field() -> None:
    text = HEAD + DIGITS + REST + NET + LOSS + ADAM + RUN
    (found,) = said(text)
    assert (found.code, found.message) == (
        "E-FORM-SHAPE", "lambda list: &rest stands after &key"
    )  # fmt: skip
    after = mended(text, found)
    assert "(defun prepare (&rest m &key image &allow-other-keys)" in after
    assert codes(after) == []


def test_loader_info_answers_by_the_keys_of_its_page() -> None:
    text = HEAD + DIGITS + NET + LOSS + ADAM + RUN
    source = Source(str(HERE / "asked.lisp"), text)
    for key, value in ((":examples", "1797"), (":classes", "10")):
        assert inspection.evaluate(source, f"(loader-info d {key})")[0][0] == value
    for key, hint in ((":clases", "did you mean :classes?"), (":vocab", ":examples")):
        with pytest.raises((Problem, Problems)) as caught:
            inspection.evaluate(source, f"(loader-info d {key})")
        (told,) = getattr(caught.value, "diagnostics", None) or [caught.value.diagnostic]
        assert told.code == "E-OPTION"
        assert hint in (told.hint or "")


# R42: modules with knobs


MODULE = """(provide layer)
(require "sexpgpu/nn")
(defknob wide 32 "Of the hidden layer." :type (integer 1))
(defmodel layer (x) (nn:linear (relu (nn:linear x wide)) 10))
"""


def test_knobs_of_a_module_are_named_by_its_prefix(tmp_path: Path) -> None:
    (tmp_path / "m.lisp").write_text(MODULE, encoding="utf-8")
    head = HEAD + '(require "./m.lisp" :as m)\n'
    text = head + DIGITS + NET.replace("(nn:linear x 10)", "(m:layer x)") + LOSS + ADAM + RUN
    source = Source(str(tmp_path / "it.lisp"), text)
    assert not api.check(source).diagnostics
    loaded = api.load(source, sets=[("m:wide", "7")])
    assert loaded.experiment.chosen()["set"] == {"m:wide": "7"}
    other = text.replace("m:layer", "m:layr")
    found = said(other, tmp_path)[0]
    assert (found.code, found.hint) == ("E-IMPORT-NAME", "did you mean layer?")


@pytest.mark.parametrize(
    ("short", "hint"),
    [
        (":keep", "did you mean :keep-if?"),
        (":keep-if", "give a number behind it: :short :keep-if 4"),
    ],
)
def test_what_short_takes_is_told(short: str, hint: str) -> None:
    windows = f"(windows 9 :documents t :short {short})"
    text = (
        f"(defloader t1 (source (python-stdlib :limit 5000)) {windows} (stage :train) (batch 8))\n"
    )
    found = said(HEAD + text + NET + LOSS + ADAM + RUN)[0]
    assert (found.code, found.hint) == ("E-OPTION-VALUE", hint)
