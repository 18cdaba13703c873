"""Weight sums of 0 beside those of a step's ratios: which count; nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core import api
from sexpgpu_core.staging import weighing

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d (source (digits)) (stage :train :split (0 0.8)) (batch 16))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (let* ((each (cross-entropy (net image) label))
         (rows (reshape image '(-1 8 8)))
         (w (cast (> rows 14) :f32))
         (three (cast (= label 3) :f32)))
    {loss}))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-2))))
(defrun :steps 2 :seed 1 :microbatches {blocks} :log-every 1 :checkpoint (:at (:end)))
"""
ROWS = '(metric "none" (cast (= 0 (sum w :axis -1)) :f32) :reduce :sum)'
BLOCKS = '(metric "none" (cast (= 0 (per-block (sum three))) :f32) :reduce :sum)'
PARTS = "(* (+ 1 w) (reshape each '(-1 1 1)))"
INNER = "(map-over (lambda (r) (weighted-mean (* e (+ 1 r)) r)) v)"
OF_ROW = "(lambda (h r) (let ((m (weighted-mean (* e (+ 1 r)) r))) {values}))"
SCAN = f"(scan {OF_ROW} 0.0 v {{more}})"


def scanned(values: str, more: str = "", taken: str = "(mean (nth-value 1 {scan}))") -> str:
    scan = SCAN.format(values=values, more=more)
    return f"(mean (map-over (lambda (e v) {taken.format(scan=scan)}) each w))"


LOSSES = {
    "of parts": (ROWS, f"(mean (weighted-mean {PARTS} w :axis -1))"),
    "of parts that are kept": (ROWS, f"(mean (weighted-mean {PARTS} w :axis -1 :keep t))"),
    "of a block": (BLOCKS, "(+ (mean each) (per-block (weighted-mean each three)))"),
    "of trips in trips": (ROWS, f"(mean (map-over (lambda (e v) (mean {INNER})) each w))"),
    "of a scan": (ROWS, scanned("(values h m)")),
    "of a carry": (ROWS, scanned("(values (+ h m) nil)", "", "(nth-value 0 {scan})")),
    "by carries": (ROWS, scanned("(values (+ h m) nil)", ":save :carry", "(nth-value 0 {scan})")),
    "by segments": (ROWS, scanned("(values h m)", ":segments 3")),
    "from the end": (ROWS, scanned("(values h m)", ":reverse t")),
    "of the trip before": (ROWS, scanned("(values m h)")),
    "beside a ratio": (
        ROWS,
        f"(+ (weighted-mean each (+ 1 three)) (mean (weighted-mean {PARTS} w :axis -1)))",
    ),
}


def trained(folder: Path, loss: str, blocks: int, device: str = "cpu") -> Path:
    path = folder / "it.lisp"
    path.write_text(FILE.format(loss=loss, blocks=blocks), encoding="utf-8")
    done = api.run(path, runs_root=folder, device=device, name=f"{device}-{blocks}")
    assert done.exit == 0, done.error
    return done.folder


def told(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()
    return [e["metrics"] for e in map(json.loads, lines) if e["event"] == "step"]


def counts(folder: Path) -> list[float]:
    return [m.get("data/empty", 0) for m in told(folder)]


@pytest.mark.parametrize("blocks", [1, 4, 16])
@pytest.mark.parametrize("what", LOSSES)
def test_each_weight_sum_that_is_zero_counts(what: str, blocks: int, tmp_path: Path) -> None:
    folder = trained(tmp_path, " ".join(LOSSES[what]), blocks)
    none = [m["train/none"] for m in told(folder)]
    assert counts(folder) == list(np.cumsum(none))
    assert max(none) > 0


@pytest.mark.parametrize("what", ["of parts", "of a block", "by segments"])
def test_the_reference_counts_the_same(what: str, tmp_path: Path) -> None:
    folders = [trained(tmp_path, " ".join(LOSSES[what]), 4, d) for d in ("cpu", "reference")]
    assert counts(folders[0]) == counts(folders[1])


NOT_THE_LOSS = {
    "a metric": f'(metric "m" (mean (weighted-mean {PARTS} w :axis -1)))',
    "a metric of trips": f'(metric "m" (mean (map-over (lambda (e v) (mean {INNER})) each w)))',
}


OF_CHOICE = "(lambda () (weighted-mean each (* 0 three)))"
NOT_COUNTED = {
    "of a choice": f"(cond-select (< (sum each) 1e9) {OF_CHOICE} (lambda () (mean each)))",
    "of a gradient": "(sum (square (grad (weighted-mean (square each) (* 0 three)) each)))",
}


@pytest.mark.parametrize("what", NOT_COUNTED)
def test_what_the_page_leaves_out_is_zero_and_does_not_count(what: str, tmp_path: Path) -> None:
    folder = trained(tmp_path, f"(+ (* 0 (mean each)) {NOT_COUNTED[what]})", 1)
    assert [m["train/objective"] for m in told(folder)] == [0, 0]
    assert counts(folder) == [0, 0]


@pytest.mark.parametrize("what", NOT_THE_LOSS)
def test_what_the_loss_is_not_made_of_does_not_count(what: str, tmp_path: Path) -> None:
    folder = trained(tmp_path, NOT_THE_LOSS[what] + " (mean each)", 4)
    assert counts(folder) == [0, 0]


def test_of_a_loop_counts_what_the_loss_takes_of_it(tmp_path: Path) -> None:
    """Two means a trip, of which one reaches the loss and the other a metric."""
    both = "(values (weighted-mean (+ e r) r) (weighted-mean (+ e r) (* 0 r)))"
    pair = f"(map-over (lambda (e v) (map-over (lambda (r) {both}) v)) each w)"
    text = f'{ROWS} (multiple-value-bind (a b) {pair} (metric "m" (mean {{}})) (mean {{}}))'
    folder = trained(tmp_path, text.format("b", "a"), 4)
    assert counts(folder) == list(np.cumsum([m["train/none"] for m in told(folder)]))
    assert counts(trained(tmp_path, text.format("a", "b"), 1)) == [128, 256]


@pytest.mark.parametrize("blocks", [1, 4, 16])
def test_what_no_example_reaches_counts_once_a_step(blocks: int, tmp_path: Path) -> None:
    fixed = "(+ (mean each) (weighted-mean (ones '(3)) (* 0 (cast (ctx :step) :f32) (ones '(3)))))"
    assert counts(trained(tmp_path, fixed, blocks)) == [1, 2]


@pytest.mark.parametrize("what", LOSSES)
def test_counting_changes_no_bit(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss = " ".join(LOSSES[what])
    (tmp_path / "without").mkdir()
    counted = trained(tmp_path, loss, 4)
    monkeypatch.setattr(weighing, "stacked_counts", lambda region: [])
    monkeypatch.setattr(weighing, "count_empty", lambda t, cutter, losses: {})
    without = trained(tmp_path / "without", loss, 4)
    assert counts(without) == [0, 0]
    mine, theirs = (saved(folder) for folder in (counted, without))
    assert mine.keys() == theirs.keys()
    assert all(np.array_equal(mine[n], theirs[n]) for n in mine)
    for a, b in zip(told(counted), told(without), strict=True):
        assert a["train/objective"] == b["train/objective"]


def saved(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    (params,) = (folder / "checkpoints").glob("step-*/params.safetensors")
    return dict(load_file(params))
