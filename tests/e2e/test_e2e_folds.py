"""Cross-validation is a sweep over folds: each example is held out once, rows pool their folds."""

from __future__ import annotations

from statistics import mean, stdev

import numpy as np
import pytest
from e2e_program import Folder, held, series, validate

from sexpgpu_core import api

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defknob fold 0 "Which third is held out." :type (integer 0 2))
(defknob lr 1e-1 "Rate." :type (float (0) 1))
(defsweep rates :grid ((lr (1e-1 1e-3)) (fold (0 1 2))) :over (fold) :rank ("val/loss" :min))
(defloader d
  (source (csv "a.csv"))
  (fields (x (0 2) :f32) (y 2 :f32))
  (split-by :hash)
  (stage :train :split ((0 (/ fold 3)) ((/ (+ fold 1) 3) 1)))
  (stage :val   :split ((/ fold 3) (/ (+ fold 1) 3)))
  (batch 4))
(defmodel net (x) (nn:linear x 1))
(defun objective (&key x y) (metric "loss" (nn:mse (reshape (net x) (list (dim x 0))) y)))
(defeval val :loader (d :val))
(defun optimizer () (groups (group :rest (optim:sgd :lr lr))))
(defrun :steps 4 :seed 1)
"""
ROWS = 23


@pytest.fixture
def folds(folder: Folder) -> Folder:
    x = np.random.default_rng(0).normal(size=(ROWS, 2)).round(3)
    rows = [f"{a},{b},{2 * a - b:.3f}" for a, b in x.tolist()]
    folder.write("a.csv", "\n".join(["a,b,y", *rows]) + "\n")
    folder.write("x.lisp", FILE)
    return folder


def test_every_example_is_held_out_once(folds: Folder) -> None:
    seen: list[float] = []
    for fold in range(3):
        loader = api.load(folds.path / "x.lisp", sets=[("fold", str(fold))]).loaders["d"]
        parts = {
            stage: {x for b in loader.evaluation(stage) for x in b["x"][:, 0].tolist()}
            for stage in ("train", "val")
        }
        assert not parts["train"] & parts["val"]
        assert len(parts["train"] | parts["val"]) == ROWS
        seen += parts["val"]
    assert len(seen) == len(set(seen)) == ROWS


def test_a_row_is_the_mean_and_the_deviation_of_its_folds(folds: Folder) -> None:
    done = folds("sweep", "x.lisp", "rates", "--jobs", "2", "--json", "-q")
    held(done, 0)
    validate(done.document)
    said = done.document
    assert said["counts"] == {"finished": 6}
    assert len(said["table"]) == 2
    found: dict[float, list[float]] = {}
    for point in said["points"]:
        losses = series(folds.made(point["run"]), "eval")
        found.setdefault(point["values"]["lr"], []).append(losses[max(losses)]["val/loss"])
    for row in said["table"]:
        own = found[row["values"]["lr"]]
        assert row["n"] == len(own) == 3
        assert row["mean"] == mean(own)
        assert row["deviation"] == pytest.approx(stdev(own), rel=1e-12)
        assert (row["minimum"], row["maximum"]) == (min(own), max(own))
    assert said["table"][0]["mean"] < said["table"][1]["mean"]
    assert said["table"][0]["values"] == {"lr": "0.1"}
