"""A run on each kind of source resumes to the same bits, however its batches are fetched."""

from __future__ import annotations

import gzip
import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from run_file import arrays, events
from safetensors.numpy import save_file

from sexpgpu_core import api
from sexpgpu_core.data.kinds import SOURCES
from sexpgpu_core.data.loader import Ahead

ROWS = 23
R = np.random.default_rng(0)
IMAGE = R.integers(0, 255, (ROWS, 4, 4)).astype(np.uint8)
X = R.normal(size=(ROWS, 3)).astype(np.float32)
LABEL = R.integers(0, 5, ROWS).astype(np.int64)
TEXT = "".join(R.choice(list("abc \n"), 600))
TOKENS = "(windows 9)"


def idx(path: Path, array: np.ndarray) -> None:
    head = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(gzip.compress(head + array.tobytes()))


def pictures(folder: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="images need Pillow")
    for at, picture in enumerate(IMAGE):
        path = folder / "p" / str(LABEL[at]) / f"{at}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(picture).save(path)


def columns(folder: Path, kind: str) -> None:
    arrow = pytest.importorskip("pyarrow", reason=f"{kind} needs pyarrow")
    table = arrow.table({"x": X.tolist(), "label": LABEL})
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, folder / "a.parquet", row_group_size=5)
        return
    path = str(folder / "a.arrow")
    with arrow.OSFile(path, "wb") as file, arrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)


def rows_of_json(folder: Path) -> None:
    rows = [{"x": x.tolist(), "label": int(n)} for x, n in zip(X, LABEL)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))


def rows_of_csv(folder: Path) -> None:
    rows = [",".join(map(str, [*x, n])) for x, n in zip(X.tolist(), LABEL)]
    (folder / "a.csv").write_text("a,b,c,label\n" + "\n".join(rows))


def skipped_without_sklearn(folder: Path) -> None:
    pytest.importorskip("sklearn", reason="digits need scikit-learn")


Write = Callable[[Path], object]
KINDS: dict[str, tuple[str, Write]] = {
    "text-files": (
        f'(source (text-files "a.txt" :tokenizer :chars)) {TOKENS}',
        lambda f: (f / "a.txt").write_text(TEXT),
    ),
    "python-stdlib": (f"(source (python-stdlib :limit 2000)) {TOKENS}", lambda f: None),
    "token-shards": (
        f'(source (token-shards "a.bin" :vocab 5)) {TOKENS}',
        lambda f: (f / "a.bin").write_bytes(R.integers(0, 5, 600).astype("<u2").tobytes()),
    ),
    "idx": (
        '(source (idx :x "a.gz" :label "b.gz"))',
        lambda f: (idx(f / "a.gz", IMAGE), idx(f / "b.gz", LABEL.astype(np.uint8))),
    ),
    "digits": ('(source (digits)) (fields (x "image") (label "label"))', skipped_without_sklearn),
    "npz": ('(source (npz "a.npz"))', lambda f: np.savez(f / "a.npz", x=X, label=LABEL)),
    "npy": (
        '(source (npy :x "a.npy" :label "b.npy"))',
        lambda f: (np.save(f / "a.npy", X), np.save(f / "b.npy", LABEL)),
    ),
    "safetensors": (
        '(source (safetensors "a.safetensors"))',
        lambda f: save_file({"x": X, "label": LABEL}, f / "a.safetensors"),
    ),
    "csv": ('(source (csv "a.csv")) (fields (x (0 3) :f32) (label 3))', rows_of_csv),
    "jsonl": ('(source (jsonl "a.jsonl"))', rows_of_json),
    "parquet": ('(source (parquet "a.parquet"))', lambda f: columns(f, "parquet")),
    "arrow": ('(source (arrow "a.arrow"))', lambda f: columns(f, "arrow")),
    "images": ('(source (images "p" :channels 1)) (fields (x "image") (label "label"))', pictures),
    "synthetic": (
        "(source (synthetic (lambda (i) (list :x (list (random 1.0) i) :label (mod i 5)))"
        " :examples 23))",
        lambda f: None,
    ),
    "none": ("(source (none :examples 23))", lambda f: None),
    "mixture": (
        '(source (mixture (one 0.7 (npz "a.npz")) (two 0.3 (jsonl "a.jsonl"))))',
        lambda f: (np.savez(f / "a.npz", x=X, label=LABEL), rows_of_json(f)),
    ),
    "map": (
        '(source (npz "a.npz")) (map x (lambda (x) (list (aref x 0) (random 1.0))))',
        lambda f: np.savez(f / "a.npz", x=X, label=LABEL),
    ),
}
"""Kinds, and what changes how they are read, with what writes their files."""

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d {clauses} (stage :train) (batch 4))
{rest}
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))
(defrun :steps 8 :seed 1 :log-every 4 :checkpoint (:every 3 :keep 9))
"""
ROWS_OF = """
(defmodel net (x) (nn:linear (reshape (cast x :f32) (list (dim x 0) -1)) 10))
(defun objective (&key x label) (metric "loss" (nn:cross-entropy (net x) label)))
"""
TOKENS_OF = """
(defmodel net (x) (nn:linear (nn:embedding x 256 4) 256))
(defun objective (&key tokens)
  (metric "loss" (nn:cross-entropy (net (slice tokens :axis 1 :end -1))
                                   (slice tokens :axis 1 :start 1))))
"""
DRAWN = """
(defun prepare () (batch :x (random-uniform (list (batch-rows) 3) :batch 0)))
(defmodel net (x) (nn:linear x 2))
(defun objective (&key x) (metric "loss" (mean (square (net x)))))
"""


def test_every_kind_has_its_row() -> None:
    assert {row.kind for row in SOURCES} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_on_it_resumes_to_the_same_bits_whatever_is_fetched_ahead(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clauses, write = KINDS[kind]
    write(tmp_path)
    rest = TOKENS_OF if TOKENS in clauses else DRAWN if kind == "none" else ROWS_OF
    file = tmp_path / "it.lisp"
    file.write_text(FILE.format(clauses=clauses, rest=rest))
    whole = api.run(file, runs_root=tmp_path / "runs", name="it")
    assert whole.exit == 0, whole.error
    wanted = arrays(whole.folder)
    monkeypatch.setattr(Ahead, "__new__", lambda of, *given: tuple.__new__(of, (8, 3)))
    again = api.run(file, runs_root=tmp_path / "runs", resume="it@3")
    assert again.exit == 0, again.error
    found = arrays(again.folder)
    assert found.keys() == wanted.keys()
    assert all(np.array_equal(found[name], a) for name, a in wanted.items())
    if kind == "mixture":
        said = events(again.folder, "step")[-1]["metrics"]
        assert said["data/one/epoch"] > 0
        assert said["data/one/epoch"] * ROWS + said["data/two/epoch"] * ROWS == pytest.approx(32)
