"""What reading costs: `python bench/loaders.py [--megabytes 32] [--json FILE]`.

A file of each format is made; then, once what is made once is there, CPU time of shuffled batches
of 64 through a loader, and beside it of the same rows read plainly: the whole file by NumPy,
pyarrow, json or Pillow, then rows taken by index (of pictures: each decoded). CPU time and not wall
time, as a busy host does not change it.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

BATCH, WINDOW, SIDE = 64, 257, 64
LOADER = "(defloader d {source} {clauses} (stage :train) (batch {batch}))"
REST = """(defmodel net () (defparam w () :init 0) w)
(defun objective () (net)) (defun optimizer () (groups)) (defrun :steps 1)"""


class Format(NamedTuple):
    """`write`: makes a file of about so many bytes. `plain`: its rows by index, read plainly."""

    name: str
    source: str
    clauses: str
    write: Callable[[Path, int], None]
    plain: Callable[[Path], Callable[[np.ndarray], Any]]


def _numbers(bytes_: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    r, n = np.random.default_rng(0), max(BATCH * 4, bytes_ // each)
    return r.normal(size=(n, 16)).astype(np.float32).round(4), r.integers(0, 10, n)


def _write_csv(path: Path, bytes_: int) -> None:
    x, label = _numbers(bytes_, 125)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*(f"c{i}" for i in range(16)), "label"])
        rows.writerows([*map(float, a), b] for a, b in zip(x, label.tolist()))


def _plain_csv(path: Path) -> Callable[[np.ndarray], Any]:
    whole = np.loadtxt(path, np.float32, delimiter=",", skiprows=1)
    return lambda rows: (whole[rows, :16], whole[rows, 16].astype(np.int32))


def _write_json(path: Path, bytes_: int) -> None:
    x, label = _numbers(bytes_, 150)
    rows = ({"x": a, "label": b} for a, b in zip(x.astype(float).round(4).tolist(), label.tolist()))
    path.write_text("\n".join(map(json.dumps, rows)))


def _plain_json(path: Path) -> Callable[[np.ndarray], Any]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    x = np.array([row["x"] for row in rows], np.float32)
    label = np.array([row["label"] for row in rows], np.int32)
    return lambda chosen: (x[chosen], label[chosen])


def _write_parquet(path: Path, bytes_: int) -> None:
    import pyarrow
    from pyarrow import parquet

    x, label = _numbers(bytes_, 68)
    columns = {"x": pyarrow.FixedSizeListArray.from_arrays(x.ravel(), 16), "label": label}
    parquet.write_table(pyarrow.table(columns), path, row_group_size=20_000)


def _plain_parquet(path: Path) -> Callable[[np.ndarray], Any]:
    from pyarrow import parquet

    table = parquet.read_table(path)
    x = table["x"].combine_chunks().flatten().to_numpy().reshape(-1, 16)
    label = table["label"].to_numpy().astype(np.int32)
    return lambda rows: (x[rows], label[rows])


def _write_npz(path: Path, bytes_: int) -> None:
    x, label = _numbers(bytes_, 72)
    np.savez(path, x=x, label=label)


def _plain_npz(path: Path) -> Callable[[np.ndarray], Any]:
    with np.load(path) as found:
        x, label = found["x"], found["label"].astype(np.int32)
    return lambda rows: (x[rows], label[rows])


def _write_tokens(path: Path, bytes_: int) -> None:
    path.write_bytes(np.random.default_rng(0).integers(0, 50_000, bytes_ // 2).astype("<u2"))


def _plain_tokens(path: Path) -> Callable[[np.ndarray], Any]:
    tokens = np.memmap(path, "<u2", "r")
    return lambda rows: np.stack([tokens[i * WINDOW : (i + 1) * WINDOW] for i in rows]).astype("i4")


def _write_images(path: Path, bytes_: int) -> None:
    from PIL import Image

    r, n = np.random.default_rng(0), min(1024, max(BATCH * 4, bytes_ // (SIDE * SIDE * 3)))
    for at in range(n):
        folder = path / str(at % 4)
        folder.mkdir(parents=True, exist_ok=True)
        small = r.integers(0, 255, (8, 8, 3)).astype(np.uint8)
        Image.fromarray(small).resize((SIDE, SIDE)).save(folder / f"{at:05}.png")


def _plain_images(path: Path) -> Callable[[np.ndarray], Any]:
    from PIL import Image

    found = sorted(path.glob("*/*.png"))
    datas = [file.read_bytes() for file in found]
    return lambda rows: np.stack(
        [np.asarray(Image.open(io.BytesIO(datas[i])).convert("RGB")) for i in rows]
    )


COLUMNS = '(fields (x (0 16) :f32) (label "label" :i32))'
FORMATS = (
    Format("token windows", '(source (token-shards "{}"))', f"(windows {WINDOW})", _write_tokens,
           _plain_tokens),
    Format("csv", '(source (csv "{}"))', COLUMNS, _write_csv, _plain_csv),
    Format("jsonl", '(source (jsonl "{}"))', "", _write_json, _plain_json),
    Format("parquet", '(source (parquet "{}"))', "", _write_parquet, _plain_parquet),
    Format("npz", '(source (npz "{}"))', "", _write_npz, _plain_npz),
    Format("images", '(source (images "{}"))', "", _write_images, _plain_images),
)  # fmt: skip


def measured(form: Format, folder: Path, bytes_: int) -> dict[str, Any]:
    """CPU seconds of opening and of batches, ours and plain."""
    from sexpgpu_core import api
    from sexpgpu_core.spans import Source

    path = folder / form.name.replace(" ", "-")
    form.write(path if form.name != "npz" else path.with_suffix(".npz"), bytes_)
    path = path.with_suffix(".npz") if form.name == "npz" else path
    clauses = LOADER.format(source=form.source.format(path.name), clauses=form.clauses, batch=BATCH)
    source = Source(str(folder / "run.lisp"), clauses + REST)

    def opened() -> Any:
        loader = api.load(source).loaders["d"]
        loader.batch("train", 0)
        return loader

    first, _ = _timed(opened)
    opening, loader = _timed(opened)
    count = loader.batches("train")
    many = max(1, min(count, 400))
    made = loader.batch("train", 0)
    size = sum(a.nbytes for a in made.values())
    ours = _best(lambda: [loader.batch("train", n) for n in range(many)])
    reading, rows = _timed(lambda: form.plain(path))
    order = np.random.default_rng(1).permutation(count * BATCH).reshape(count, BATCH)[:many]
    plain = _best(lambda: [rows(some) for some in order])
    return {
        "format": form.name,
        "scan_s": first,
        "open_s": opening,
        "examples_per_s": many * BATCH / ours,
        "MB_per_s": many * size / ours / 1e6,
        "plain_read_s": reading,
        "plain_examples_per_s": many * BATCH / plain,
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def _best(work: Callable[[], Any], times: int = 3) -> float:
    return max(1e-9, min(_timed(work)[0] for _ in range(times)))


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['format']:<14} first {row['scan_s']:6.2f} s, again {row['open_s']:6.3f} s; "
        f"{row['examples_per_s']:>10,.0f} examples/s, {row['MB_per_s']:>7,.0f} MB/s; "
        f"plain: {row['plain_read_s']:6.2f} s, {row['plain_examples_per_s']:>10,.0f}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=32)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEXPGPU_CACHE"] = str(Path(folder) / "cache")
        for form in FORMATS:
            found.append(row := measured(form, Path(folder), given.megabytes << 20))
            sys.stdout.write(_line(row))
            sys.stdout.flush()
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
