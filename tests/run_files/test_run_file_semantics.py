"""What the page of semantics says of a step, tried by small runs: states, weights, stages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, events

from sexpgpu_core import api, rerun
from sexpgpu_core.runtime import runs
from sexpgpu_core.spans import Source

HEAD = '(require "sexpgpu/nn")\n(require "sexpgpu/optim")\n'
DIGITS = "(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 16))\n"
LOSS = """(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
"""
ADAM = "(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2 :weight-decay 0.1))))\n"
RUN = "(defrun :steps 3 :seed 1 :microbatches {m} :checkpoint (:every 1 :keep 9) :log-every 1)\n"


def trained(folder: Path, text: str, name: str = "it") -> Path:
    file = folder / f"{name}.lisp"
    file.write_text(text, encoding="utf-8")
    done = api.run(file, runs_root=folder, name=name)
    assert done.exit == 0, done.error
    return done.folder


def named(found: dict[str, Any], end: str) -> Any:
    (value,) = [array for name, array in found.items() if name.endswith(end)]
    return value


TWICE = """(defmodel net (x)
  (defstate twice () :init 0.0)
  (defstate once () :init 0.0)
  (setf twice (+ (* 0 twice) 5))
  (setf twice (+ twice 1))
  (setf once (+ once 1))
  (metric "twice" twice)
  (metric "once" once)
  (nn:linear x 10))
"""


def test_a_state_is_read_as_it_was_set_and_the_last_counts(tmp_path: Path) -> None:
    folder = trained(tmp_path, HEAD + DIGITS + TWICE + LOSS + ADAM + RUN.format(m=1))
    told = [e["metrics"] for e in events(folder, "step")]
    series = {end: next(k for k in told[0] if k.endswith(end)) for end in ("twice", "once")}
    assert [m[series["twice"]] for m in told] == [6, 6, 6]
    assert [m[series["once"]] for m in told] == [1, 2, 3]
    for step in (1, 2, 3):
        found = arrays(folder, step)
        assert named(found, "/twice") == 6
        assert named(found, "/once") == step


COMBINED = """(defmodel net (x)
  (defstate middle () :init 0.0)
  (defstate rows () :init 0 :dtype :i32)
  (defstate total () :init 0.0 :combine :delta)
  (defstate most () :init 0.0 :combine :max)
  (defstate least () :init 9.0 :combine :min)
  (setf middle (mean x))
  (setf rows (+ rows (sum (cast (= 0 (* 0 (slice x :axis 1 :end 1))) :i32))))
  (setf total (+ total (sum x)))
  (setf most (max most (reduce-max x)))
  (setf least (min least (reduce-min (+ x 0.5))))
  (nn:linear x 10))
"""


COMBINED_FILE = HEAD + DIGITS + COMBINED + LOSS + ADAM


def test_blocks_proposals_of_a_state_are_combined(tmp_path: Path) -> None:
    made = {
        m: arrays(trained(tmp_path, COMBINED_FILE + RUN.format(m=m), f"m{m}")) for m in (1, 2, 4)
    }
    assert named(made[1], "/rows") == 3 * 16
    assert 0 < named(made[1], "/least") < named(made[1], "/most")
    for m in (2, 4):
        assert named(made[m], "/rows") == named(made[1], "/rows")
        for end in ("/most", "/least"):
            assert named(made[m], end) == named(made[1], end)
        for end in ("/middle", "/total"):
            assert np.allclose(named(made[m], end), named(made[1], end), rtol=1e-5)


def test_a_state_is_not_differentiated() -> None:
    model = "(defmodel net (x) (defstate s () :init 1.0) (defparam w () :init 2.0) {}\n"
    model += "  (* s (nn:linear x 10)))\n"
    texts = [
        HEAD + DIGITS + model.format(form) + LOSS + ADAM + RUN.format(m=1)
        for form in ("(setf s (* 1.0 w))", "(setf s (* 2 s))")
    ]
    for text in texts:
        found = api.check(Source(str(HERE / "changed.lisp"), text)).diagnostics
        (told,) = [d for d in found if d.code == "E-PARAM-UNREACHED"]
        assert "net/w" in told.message


NOTHING = """(defun objective (&key image label)
  (metric "loss" (weighted-mean (cross-entropy (net image) label) (* 0.0 (cast label :f32)))))
"""


@pytest.mark.parametrize("blocks", [1, 2])
def test_weights_of_nothing_give_a_loss_of_zero_and_move_nothing(
    blocks: int, tmp_path: Path
) -> None:
    model = "(defmodel net (x) (nn:linear x 10))\n"
    plain = "(defun optimizer () (groups (group :rest (optim:sgd :lr 1.0))))\n"
    text = HEAD + DIGITS + model + NOTHING + plain + RUN.format(m=blocks)
    folder = trained(tmp_path, text)
    told = [e["metrics"] for e in events(folder, "step")]
    assert [m["train/objective"] for m in told] == [0, 0, 0]
    assert [m["train/loss"] for m in told] == ["nan"] * 3  # the mean of nothing
    first, last = arrays(folder, 1), arrays(folder, 3)
    assert np.array_equal(named(first, "linear/w"), named(last, "linear/w"))
    assert np.any(named(first, "linear/w"))
    assert [m["data/empty"] for m in told] == [1, 2, 3]


THREES = """(defloader d (source (digits)) (stage :train :order :random) (batch 16))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (let ((w (cast (= label 3) :f32)))
    (metric "weight" (sum w) :reduce :sum)
    (weighted-mean (cross-entropy (net image) label) w)))
(defun optimizer () (groups (group :rest (optim:sgd :lr 0.1))))
(defrun :steps 16 :seed 2 :microbatches {m} :checkpoint (:every 1 :keep 17) :log-every {log})
"""


def weighing(folder: Path, blocks: int, log: int = 1, **options: Any) -> Path:
    """A run whose batches have a 3 or have none: a block of some rows often has none."""
    name = f"it-{blocks}"
    file = folder / f"{name}.lisp"
    file.write_text(HEAD + THREES.format(m=blocks, log=log), encoding="utf-8")
    done = api.run(file, runs_root=folder, **{"name": name, **options})
    assert done.exit == 0, done.error
    return done.folder


@pytest.mark.parametrize(
    ("device", "blocks"), [("cpu", 1), ("cpu", 4), ("cpu", 16), ("reference", 1), ("reference", 4)]
)
def test_a_batch_that_weighs_nothing_is_counted_and_moves_nothing(
    device: str, blocks: int, tmp_path: Path
) -> None:
    folder, empty = weighing(tmp_path, blocks, device=device), 0
    for told in events(folder, "step"):
        series, step = told["metrics"], told["step"]
        empty += series["train/weight"] == 0
        assert series.get("data/empty") == (empty or None)  # not said before there is one
        if series["train/weight"] == 0:
            assert series["train/objective"] == 0
            if step > 1:
                before, after = (named(arrays(folder, n), "linear/w") for n in (step - 1, step))
                assert np.array_equal(before, after)
    assert 0 < empty < 16


def test_a_resume_goes_on_with_the_count_of_what_weighed_nothing(tmp_path: Path) -> None:
    folder = weighing(tmp_path, 4, log=16)
    counts = {
        path.parent.name: json.loads(path.read_text())["counters"].get("data/empty", 0)
        for path in (folder / "checkpoints").glob("step-*/checkpoint.json")
    }
    total = counts["step-00000016"]
    at = next(step for step in range(1, 16) if 0 < counts[f"step-{step:08}"] < total)
    again = weighing(tmp_path, 4, log=16, resume=f"it-4@{at}", name="again")
    (told,) = events(again, "step")
    assert told["metrics"]["data/empty"] == told["counters"]["data/empty"] == total
    assert rerun.verify(runs.find(tmp_path, folder.name), steps=16 - at).found == ()


TERMS = """(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (let ((each (cross-entropy (net image) label))
        (none (* 0.0 (cast label :f32))))
    (+ (mean each) (weighted-mean each none) (* 0.5 (weighted-mean (square each) none))
       (weighted-mean each (cast (< label 10) :f32)) (weighted-mean each (+ none 1.0)))))
"""


def test_each_term_of_a_loss_that_weighs_nothing_counts(tmp_path: Path) -> None:
    for blocks in (1, 4):
        text = HEAD + DIGITS + TERMS + ADAM + RUN.format(m=blocks)
        folder = trained(tmp_path, text, f"m{blocks}")
        assert [e["metrics"]["data/empty"] for e in events(folder, "step")] == [2, 4, 6]


def test_a_counter_of_a_file_has_not_the_name_of_the_runs_own() -> None:
    text = HEAD + DIGITS.replace("(batch 16)", "(batch 16) (counter :data/empty 1)")
    text += "(defmodel net (x) (nn:linear x 10))\n" + LOSS + ADAM + RUN.format(m=1)
    (told,) = api.check(Source(str(HERE / "changed.lisp"), text)).diagnostics
    assert told.code == "E-TWICE"


STAGES = """(defloader d (source (digits))
  (stage :warm :split (0 0.4)) (stage :train :split (0.4 0.8)) (batch 16))
(defmodel net (x) (nn:linear x 10))
(defmodel more (x) (nn:linear x 10))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy
    (if (eq (ctx :stage) :warm) (net image) (+ (net image) (more image))) label)))
"""
CURRICULUM = "(defun curriculum () (if (< (ctx :step) 2) :warm :train))\n"


def test_a_stage_without_a_parameter_leaves_it_and_its_states_alone(tmp_path: Path) -> None:
    folder = trained(tmp_path, HEAD + STAGES + ADAM + CURRICULUM + RUN.format(m=1))
    one, two, three = (arrays(folder, step) for step in (1, 2, 3))
    of = [name for name in one if "more/linear" in name]
    assert len(of) == 6  # two parameters and the moments of each
    for name in of:
        assert np.array_equal(one[name], two[name]), name
        assert not np.array_equal(two[name], three[name]), name
    assert not np.array_equal(named(one, "params:net/linear/w"), named(two, "params:net/linear/w"))


def test_the_file_trains_on_train_where_nothing_says_otherwise(tmp_path: Path) -> None:
    folder = trained(tmp_path, HEAD + STAGES + ADAM + RUN.format(m=1))
    assert [e["stage"] for e in events(folder, "stage")] == ["train"]


NORMED = "(defmodel net (x) (nn:linear (nn:batch-norm (cast x :f32)) 10))\n"


@pytest.mark.parametrize("blocks", [1, 4])
def test_statistics_of_a_batch_are_told_with_the_rows_that_they_see(blocks: int) -> None:
    text = HEAD + DIGITS + NORMED + LOSS + ADAM + RUN.format(m=blocks)
    found = api.check(Source(str(HERE / "changed.lisp"), text)).diagnostics
    (told,) = [d for d in found if d.code == "W-BATCH-DEPENDENCE"]
    assert told.facts["rows"] == 16 // blocks
    assert f"over the {16 // blocks} rows of a block" in told.message


ALIKE = """(defloader d
  (source (synthetic (lambda (i) (list :x (float (mod i 3)) :y (float (mod i 5)))) :examples 16))
  (stage :train :order :sequential)
  (batch 16))
(defmodel net (x)
  (defstate seen () :init 0.0)
  (setf seen (+ seen 1))
  (nn:linear (reshape x '(-1 1)) 1))
(defun objective (&key x y)
  (let ((loss (mean (square (- (net x) (reshape y '(-1 1)))))))
    (metric "loss" loss)
    (/ loss (where (= (ctx :step) {bad}) 0.0 1.0))))
(defun optimizer () (groups :ema 0.9 (group :rest (optim:adamw :lr 1e-2))))
(defrun :steps {steps} :seed 1 :finite-guard (:skip 3) :checkpoint (:every 1 :keep 9)
  :log-every 1)
"""
"""Every batch is the same; the loss of one step is not finite."""


@pytest.mark.parametrize("bad", [0, 2])
def test_a_step_that_is_dropped_is_as_if_it_had_not_been(bad: int, tmp_path: Path) -> None:
    """Parameters, states of the optimizer and the model and EMA stay; what follows is what would
    have followed, bias corrections too, which count updates; only steps and data go on."""
    whole = trained(tmp_path, HEAD + ALIKE.format(bad=99, steps=3), "whole")
    dropped = trained(tmp_path, HEAD + ALIKE.format(bad=bad, steps=4), "dropped")
    wanted, found = (arrays(folder, step) for folder, step in ((whole, 3), (dropped, 4)))
    kinds = ("params:", "optimizer:", "state:ema:", "state:state:")
    assert all(any(name.startswith(kind) for name in found) for kind in kinds), found.keys()
    assert {n: a.tobytes() for n, a in found.items()} == {n: a.tobytes() for n, a in wanted.items()}
    if bad:
        before, after = (arrays(dropped, step) for step in (bad, bad + 1))
        assert {n: a.tobytes() for n, a in before.items()} == {
            n: a.tobytes() for n, a in after.items()
        }
    told = json.loads((dropped / "checkpoints/step-00000004/checkpoint.json").read_text())
    assert (told["step"], told["updates"], told["guard"]["skipped"]) == (4, 3, 1)
    assert next(iter(told["loaders"].values()))["position"] == 4 * 16


def test_ema_begins_as_the_parameters(tmp_path: Path) -> None:
    folder = trained(tmp_path, HEAD + ALIKE.format(bad=0, steps=1))  # nothing has moved
    found = arrays(folder, 1)
    means = {n.removeprefix("state:ema:"): a for n, a in found.items() if "state:ema:" in n}
    assert len(means) == 2
    assert all(np.array_equal(a, found[f"params:{n}"]) for n, a in means.items())


def test_of_several_losses_one_that_is_not_finite_drops_the_step_of_all(tmp_path: Path) -> None:
    text = (HERE / "two_players.lisp").read_text(encoding="utf-8")
    ended = "(where (= (ctx :step) 1) (log (* 0.0 (stop-gradient (mean (square real))))) 0.0)"
    bad = f"(+ (mean (softplus (critic false))) {ended})"  # its gradients are finite
    made = text.replace("(mean (softplus (critic false)))", bad, 1).replace(
        ":log-every 3", ":log-every 1 :finite-guard (:skip 3) :checkpoint (:every 1 :keep 20)"
    )
    folder = trained(tmp_path, made)
    one, two, three = (arrays(folder, step) for step in (1, 2, 3))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    for player in ("critic", "generator"):
        moved = [
            name for name in one if player in name and not np.array_equal(two[name], three[name])
        ]
        assert moved


JUDGED = """(defloader d (source (digits))
  (stage :train :split (0 0.8)) (stage :val :split (0.8 0.83)) (batch 16))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net (cast image :f32)) label)))
(defun evaluate (&key image label)
  (let ((ink (mean (cast image :f32) :axis 1)))
    (metric "power" (exp (mean ink)))
    (metric "ratio" (/ (sum (square ink)) (sum ink)))
    (metric "most" (reduce-max ink) :reduce :max)
    (metric "top" (reduce-max ink))))
(defeval val :loader (d :val) :every 1)
"""


def test_metrics_of_a_pass_are_of_all_its_examples_or_of_batches_by_their_rows(
    tmp_path: Path,
) -> None:
    """Functions and ratios are taken once, at the end; the last batch is short, not padded; what
    cannot be cut is the mean of the batches' values, weighted by rows."""
    text = HEAD + JUDGED + ADAM + RUN.format(m=1)
    warned = [d.code for d in api.check(Source(str(HERE / "changed.lisp"), text)).diagnostics]
    assert "W-METRIC-BATCHWISE" in warned
    told = events(trained(tmp_path, text), "eval")[0]
    loader = api.load(Source(str(HERE / "changed.lisp"), text)).loaders["d"]
    batches = [b["image"].astype("f8").mean(1) for b in loader.evaluation("val")]
    rows = [len(ink) for ink in batches]
    assert rows[-1] < rows[0] == 16
    ink = np.concatenate(batches)
    assert (told["examples"], told["batches"]) == (len(ink), len(rows))
    wanted = {
        "power": np.exp(ink.mean()),
        "ratio": (ink**2).sum() / ink.sum(),
        "most": ink.max(),
        "top": np.average([each.max() for each in batches], weights=rows),
    }
    assert wanted["top"] < wanted["most"]
    for name, value in wanted.items():
        assert told["metrics"][f"val/{name}"] == pytest.approx(value, rel=1e-5), name


DRAWN = """(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net (cast image :f32)) label)))
(defun evaluate (&key image label)
  (metric "drawn" (mean (* (random-uniform nil :like (cast label :f32)) (cast label :f32)))))
(defeval val :loader (d :val) :every 1)
"""
VAL = "(defloader d (source (digits)) (stage :train :split (0 0.8)) (stage :val :split (0.8 1) {b})"


def test_every_pass_draws_alike_by_the_position_of_an_example(tmp_path: Path) -> None:
    """Whatever the step is and however many rows a batch of the pass has (45.14)."""
    found = set()
    for batch in (16, 64):
        head = VAL.format(b=f":batch {batch}") + " (batch 16))\n"
        text = HEAD + head + DRAWN + ADAM + RUN.format(m=1)
        told = events(trained(tmp_path, text, f"b{batch}"), "eval")
        found |= {round(e["metrics"]["val/drawn"], 5) for e in told}
        assert len(told) == 3
    assert len(found) == 1
