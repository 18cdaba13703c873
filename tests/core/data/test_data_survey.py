"""What check --data finds by reading: leaks by content, sorted labels, tokens and numbers that are
out of bounds; and nothing in data that is sound.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core import api
from sexpgpu_core.data.survey import SAMPLE, doubles
from sexpgpu_core.spans import Source
from sexpgpu_core.surveyed import surveyed

R = np.random.default_rng(0)
FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d {clauses} (batch 4))
{rest}
(defeval val :loader (d :val))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))
(defrun :steps 2)
"""
STAGES = "(stage :train :split (0 0.5)) (stage :val :split (0.5 1))"
ROWS = """
(defmodel net (x) (nn:linear (reshape (cast x :f32) (list (dim x 0) -1)) 5))
(defun objective (&key x label) (metric "loss" (nn:cross-entropy (net x) label{more})))
"""
TOKENS = """
(defun prepare (&key tokens)
  (batch :inputs (reshape (slice tokens :axis 1 :end -1) (list (dim tokens 0) 8)) :targets (slice tokens :axis 1 :start 1)))
(defmodel net (x) (nn:linear (nn:embedding x {size} 4) 300))
(defun objective (&key inputs targets) (metric "loss" (nn:cross-entropy (net inputs) targets)))
"""  # noqa: E501


def look(folder: Path, clauses: str, rest: str = ROWS.format(more="")) -> tuple[Any, Any]:
    text = FILE.format(clauses=clauses, rest=rest)
    rows, found = surveyed(api.load(Source(str(folder / "it.lisp"), text)))
    return rows, {d.code: d for d in found}


def table(folder: Path, x: np.ndarray, label: np.ndarray) -> str:
    np.savez(folder / "a.npz", x=x, label=label)
    return f'(source (npz "a.npz")) {STAGES}'


def test_sound_data_has_ranges_and_nothing_to_tell(tmp_path: Path) -> None:
    x, label = R.normal(size=(3000, 3)).astype("f4"), R.integers(0, 5, 3000)
    rows, found = look(tmp_path, table(tmp_path, x, label))
    assert found == {}
    assert [(row["stage"], row["examples"]) for row in rows] == [("train", 1500), ("val", 1500)]
    said = rows[1]["fields"]
    assert said["label"] == {"least": 0, "most": 4, "values": 5}
    assert said["x"]["least"] == pytest.approx(x[1500:].min())
    json.dumps(rows, allow_nan=False)


def test_equal_examples_of_two_splits_are_counted(tmp_path: Path) -> None:
    x, label = R.normal(size=(40, 3)).astype("f4"), R.integers(0, 5, 40)
    x[30:33], label[30:33] = x[1:4], label[1:4]
    x[0], label[0] = x[1], label[1]  # doubles in one split are none of two
    _, found = look(tmp_path, table(tmp_path, x, label))
    leak = found.pop("W-SPLIT-LEAK")
    assert leak.facts == {"stages": ("train", "val"), "count": 3, "examples": 20}
    assert leak.span is not None
    assert found == {}


def test_a_run_compares_a_sample_of_long_stages_and_says_so(tmp_path: Path) -> None:
    label = np.zeros(4000, np.int64)
    x = R.normal(size=(4000, 600)).astype("f4")
    assert x[2000:].nbytes > SAMPLE

    def found() -> list[Any]:
        text = FILE.format(clauses=table(tmp_path, x, label), rest=ROWS.format(more=""))
        (loader,) = api.load(Source(str(tmp_path / "it.lisp"), text)).loaders.values()
        return doubles(loader)

    assert found() == []
    x[2000:3000] = x[:1000]
    (leak,) = found()
    assert leak.facts == {"stages": ("train", "val"), "count": 500, "examples": 1000}
    assert "of those that were compared" in leak.message


def test_a_sorted_table_that_is_cut_by_position_is_told(tmp_path: Path) -> None:
    x, label = R.normal(size=(40, 3)).astype("f4"), np.repeat(np.arange(4), 10)
    clauses = table(tmp_path, x, label)
    _, found = look(tmp_path, clauses)
    assert found["W-SPLIT-SORTED"].facts == {"field": "label", "missing": 2}
    assert "(split-by (:stratify label))" in found["W-SPLIT-SORTED"].hint
    edited = found["W-SPLIT-SORTED"].edit.changes[0]
    text = edited.span.source.text
    mended = text[: edited.span.start] + edited.new + text[edited.span.end :]
    assert surveyed(api.load(Source(str(tmp_path / "it.lisp"), mended)))[1] == []
    assert look(tmp_path, f"{clauses} (split-by (:stratify label))")[1] == {}
    assert look(tmp_path, table(tmp_path, x, R.permutation(label)))[1] == {}


def test_numbers_that_are_not_finite_are_told_with_the_first_example(tmp_path: Path) -> None:
    x, label = R.normal(size=(40, 3)).astype("f4"), R.integers(0, 5, 40)
    x[27, 1], x[30, 2] = np.nan, np.inf
    rows, found = look(tmp_path, table(tmp_path, x, label))
    said = found.pop("W-DATA-NAN")
    assert (said.facts["count"], said.facts["example"], found) == (2, 7, {})
    assert rows[1]["fields"]["x"]["not_finite"] == 2
    json.dumps(rows, allow_nan=False)


def test_labels_beyond_the_classes_are_told_unless_they_are_ignored(tmp_path: Path) -> None:
    x, label = R.normal(size=(40, 3)).astype("f4"), R.integers(0, 5, 40)
    label[[9, 31]] = 5, -100
    clauses = table(tmp_path, x, label)
    _, found = look(tmp_path, clauses)
    told = found["E-DATA-TOKEN"]
    assert (told.facts["field"], told.facts["size"]) == ("label", 5)
    assert told.related
    label[9] = 4
    clauses = table(tmp_path, x, label)
    assert look(tmp_path, clauses, ROWS.format(more=" :ignore-index -100"))[1] == {}
    assert look(tmp_path, clauses)[1]["E-DATA-TOKEN"].facts["value"] == -100


def test_tokens_are_held_to_the_embedding_that_prepare_hands_them_to(tmp_path: Path) -> None:
    tokens = R.integers(0, 60, 4000).astype("<u2")
    tokens[3001] = 64
    (tmp_path / "a.bin").write_bytes(tokens.tobytes())
    clauses = f'(source (token-shards "a.bin")) (windows 9) {STAGES}'
    assert look(tmp_path, clauses, TOKENS.format(size=65))[1] == {}
    told = look(tmp_path, clauses, TOKENS.format(size=64))[1]["E-DATA-TOKEN"]
    assert "0 to 63" in told.message
    assert told.facts["value"] == 64
    assert ":val" in told.message


def test_a_mixture_a_whole_and_drawn_data_are_read_as_well(tmp_path: Path) -> None:
    x, label = R.normal(size=(40, 3)).astype("f4"), R.integers(0, 5, 40)
    table(tmp_path, x, label)
    mixed = f'(source (mixture (a 1 (npz "a.npz")) (b 2 (npz "a.npz")))) {STAGES}'
    rows, found = look(tmp_path, mixed)
    assert [row["examples"] for row in rows] == [40, 40]
    assert found == {}


MASKED = """
(source (npz "a.npz")) (whole) (stage :train :mask (trained 1)) (stage :val :mask (held 1))
"""
WHOLE = """
(defmodel net (x) (nn:linear x 5))
(defun objective (&key x label mask)
  (metric "loss" (nn:cross-entropy (net x) label :weights mask)))
"""


@pytest.mark.parametrize(("held", "shared"), [((0, 0, 1, 1), 1), ((0, 0, 0, 1), 0)])
def test_masks_of_two_fields_that_mark_a_row_both_are_told(
    tmp_path: Path, held: tuple[int, ...], shared: int
) -> None:
    trained = np.array([1, 1, 1, 0], np.int32)
    label = np.zeros(4, np.int32)
    x = R.normal(size=(4, 3)).astype(np.float32)
    np.savez(tmp_path / "a.npz", x=x, label=label, trained=trained, held=np.array(held, np.int32))
    text = FILE.replace("(batch 4)", "").format(clauses=MASKED, rest=WHOLE)
    loaded = api.load(Source(str(tmp_path / "it.lisp"), text))
    _, found = surveyed(loaded)
    for told in (found, doubles(loaded.loaders["d"])):
        overlaps = [d for d in told if d.code == "W-SPLIT-OVERLAP"]
        assert [(d.facts["shared"], d.span.text) for d in overlaps] == (
            [(1, "(stage :val :mask (held 1))")] if shared else []
        )
