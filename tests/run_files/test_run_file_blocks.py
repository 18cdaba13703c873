"""A step is the same step in 1, 4 and 16 microbatches: gradients, clipping, EMA, metrics."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, events, train

from sexpgpu_core import api


def trained(tmp_path: Path, blocks: int, **sets: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Arrays at the end, and the metrics of the only step."""
    chosen = [("blocks", str(blocks)), *sets.items()]
    folder = train("masked_gpt", tmp_path, sets=chosen, steps=1, name=f"m{blocks}")
    (step,) = events(folder, "step")
    return arrays(folder), step["metrics"]


def apart(a: Any, b: Any) -> float:
    """How far b is from a, relative to a's size."""
    return float(np.linalg.norm(a.astype("f8") - b) / max(np.linalg.norm(a.astype("f8")), 1e-30))


@pytest.mark.parametrize("bound", ["nil", "0.25"])
def test_microbatches_give_the_gradients_of_the_whole_with_a_ragged_mask(
    tmp_path: Path, bound: str
) -> None:
    whole, metrics = trained(tmp_path, 1, bound=bound)
    gradients = [name for name in whole if name.endswith("/g")]
    assert len(gradients) == 28
    for blocks in (4, 16):
        parts, theirs = trained(tmp_path, blocks, bound=bound)
        assert parts.keys() == whole.keys()
        far = {name: apart(whole[name], parts[name]) for name in gradients}
        assert max(far.values()) <= 1e-6, max(far.items(), key=lambda item: item[1])
        for name in whole:
            assert apart(whole[name], parts[name]) <= 1e-6, name
        for name in ("train/tokens", "train/most"):  # a sum and a maximum, both whole numbers
            assert theirs[name] == metrics[name]
        assert theirs["train/loss"] == pytest.approx(metrics["train/loss"], rel=1e-6)
        assert theirs["train/objective"] == pytest.approx(metrics["train/objective"], rel=1e-6)


SCHEDULE = ":lr (* 1e-2 (+ 1 (ctx :step) (* 10 (ctx :updates))))"


@pytest.mark.parametrize("blocks", [1, 4, 16])
def test_clipping_ema_and_schedules_happen_once_a_step(tmp_path: Path, blocks: int) -> None:
    """By numbers of each step: were any of them taken once a block, no equation would hold."""
    text = (HERE / "masked_gpt.lisp").read_text(encoding="utf-8")
    text = text.replace(":lr 1e-2", SCHEDULE)
    text = text.replace("(defrun :steps 3", "(defrun :steps 4 :checkpoint (:every 1)")
    assert text.count(SCHEDULE) == text.count(":every 1)") == 1
    path = tmp_path / "x.lisp"
    path.write_text(text, encoding="utf-8")
    bound = 0.05
    chosen = [("blocks", str(blocks)), ("bound", str(bound))]
    folder = api.run(path, sets=chosen, runs_root=tmp_path).folder
    saves = [arrays(folder, step) for step in (1, 2, 3, 4)]
    names = [name.removeprefix("params:") for name in saves[0] if name.startswith("params:")]
    assert len(names) == 28
    for step, (before, after) in enumerate(pairwise(saves), 1):
        gradients = {n: after[f"optimizer:{n}/g"].astype("f8") for n in names}
        size = float(np.sqrt(sum((g**2).sum() for g in gradients.values())))
        assert size == pytest.approx(bound, rel=1e-4)  # so it was clipped, and once
        for n in names:
            old, new = (at[f"params:{n}"].astype("f8") for at in (before, after))
            assert np.allclose(new, old - 0.01 * (1 + 11 * step) * gradients[n], atol=1e-7), n
            ema, kept = (at[f"state:ema:{n}"].astype("f8") for at in (after, before))
            assert np.allclose(ema, 0.9 * kept + 0.1 * new, rtol=1e-5, atol=1e-7), n
    assert [event["step"] for event in events(folder, "step")] == [1, 2, 3, 4]


def test_rows_that_are_drawn_without_a_field_are_others_in_each_block(tmp_path: Path) -> None:
    """Of a loader of no fields too a block draws its own rows, not those of the first."""
    text = (HERE / "physics.lisp").read_text(encoding="utf-8")
    found = {}
    for blocks in (1, 4):
        path = tmp_path / f"m{blocks}.lisp"
        said = text.replace(":steps 20", f":steps 2 :microbatches {blocks}")
        path.write_text(said, encoding="utf-8")
        found[blocks] = arrays(api.run(path, runs_root=tmp_path).folder)
    for name, a in found[1].items():
        assert apart(a, found[4][name]) <= 1e-4, name


MEANS = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8) :batch {batch})
  (stage :val :split (0.9 1) :batch {rows}))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (let* ((y (net image)) (each (cross-entropy y label)))
    (metric "right" (mean (= (argmax y) label)))
    {loss}))
(defun evaluate (&key image label)
  (let ((y (net image)))
    (metric "loss" (mean (cross-entropy y label)))
    (metric "right" (mean (= (argmax y) label)))))
(defeval val :loader (d :val) :every 2)
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-2))))
(defrun :steps 2 :seed 1 :log-every 1 :microbatches {blocks})
"""


def of_means(folder: Path, **given: object) -> Path:
    parts = {"batch": 16, "rows": 180, "loss": "(mean each)", "blocks": 1, **given}
    path = folder / "means.lisp"
    path.write_text(MEANS.format(**parts), encoding="utf-8")
    done = api.run(path, runs_root=folder, name=f"m{parts['blocks']}-r{parts['rows']}")
    assert done.exit == 0, done.error
    return done.folder


@pytest.mark.parametrize(
    "loss",
    [
        "(mean each)",
        "(* 0.5 (mean each))",
        "(+ (mean each) (* 0.1 (mean (square y))))",
        "(+ (mean each) (weighted-mean each (cast (< label 3) :f32)))",
        "(- (mean each) (per-block (mean y)))",
        "(mean (map-over (lambda (e) (square e)) each))",
        "(mean (map-over (lambda (e v) (mean (map-over (lambda (x) (* e x)) v))) each y))",
        "(sum each)",
    ],
)
def test_a_mean_is_of_the_whole_batch_also_where_a_block_is_one_row(
    loss: str, tmp_path: Path
) -> None:
    folders = {m: of_means(tmp_path, loss=loss, blocks=m) for m in (1, 4, 16)}
    whole, told = arrays(folders[1]), events(folders[1], "step")
    for blocks in (4, 16):
        parts = arrays(folders[blocks])
        for name in whole:
            assert apart(whole[name], parts[name]) <= 1e-6, name
        for mine, theirs in zip(told, events(folders[blocks], "step"), strict=True):
            for name in ("train/objective", "train/right"):
                assert theirs["metrics"][name] == pytest.approx(mine["metrics"][name], rel=1e-6)


def test_pairs_of_examples_are_no_mean_of_rows(tmp_path: Path) -> None:
    pairs = "(mean (map-over (lambda (e) (mean (map-over (lambda (f) (* e f)) each))) each))"
    path = tmp_path / "pairs.lisp"
    parts = {"batch": 16, "rows": 16, "blocks": 4, "loss": pairs}
    path.write_text(MEANS.format(**parts), encoding="utf-8")
    codes = {d.code for d in api.check(path).diagnostics}
    assert "E-OBJECTIVE-NONLINEAR" in codes


@pytest.mark.parametrize("rows", [1, 60, 179])
def test_a_metric_of_a_pass_is_a_mean_also_where_a_batch_is_one_row(
    rows: int, tmp_path: Path
) -> None:
    told = {r: events(of_means(tmp_path, rows=r), "eval")[-1]["metrics"] for r in (180, rows)}
    assert told[rows] == pytest.approx(told[180], rel=1e-6)


def test_a_mean_over_a_batch_of_one_row_is_no_sum(tmp_path: Path) -> None:
    codes = {}
    for form in ("mean", "sum"):
        path = tmp_path / f"{form}.lisp"
        parts = {"batch": 1, "rows": 1, "blocks": 1, "loss": f"({form} each)"}
        path.write_text(MEANS.format(**parts), encoding="utf-8")
        codes[form] = {d.code for d in api.check(path).diagnostics}
    assert codes["sum"] - codes["mean"] == {"W-OBJECTIVE-SUM"}
