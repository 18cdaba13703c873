"""What large files take: `python bench/large.py [--megabytes 200] [--most 96] [--json FILE]`.

A csv, a jsonl and a text file of so many bytes are each opened for the first time and read in
shuffled batches, by a process of its own; then the same file is read plainly by NumPy (jsonl by
json into NumPy), by another. Told are the peak of memory above what imports took, and megabytes of
the file by second of CPU time. Ends with 1 where a loader takes more than `--most` MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.loaders import FORMATS, LOADER, REST, Format

BATCHES = 50


def _write_text(path: Path, bytes_: int) -> None:
    letters = np.frombuffer("etaoin shrdlu\ncmfwypvbgk ä".encode("latin-1"), np.uint8)
    some = np.random.default_rng(0).integers(0, len(letters), 1 << 20)
    part = letters[some].tobytes().decode("latin-1").encode()
    with open(path, "wb") as file:
        for _ in range(max(1, bytes_ // len(part))):
            file.write(part)


def _plain_text(path: Path) -> Callable[[np.ndarray], Any]:
    """Bytes in place of characters, which NumPy does not read."""
    tokens = np.fromfile(path, np.uint8)
    ranks = (np.cumsum(np.bincount(tokens, minlength=256) > 0) - 1).astype(np.uint8)[tokens]
    return lambda rows: np.stack([ranks[i * 257 : (i + 1) * 257] for i in rows]).astype("i4")


TEXT = Format("text", '(source (text-files "{}" :tokenizer :chars))', "(windows 257)",
              _write_text, _plain_text)  # fmt: skip
LARGE = {form.name: form for form in (*FORMATS, TEXT) if form.name in ("csv", "jsonl", "text")}


def peak() -> float:
    """MB that this program has held at most; what getrusage says has the program's before exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def ours(form: Format, path: Path) -> int:
    """Batches out of a loader that opens a file; how many examples it has."""
    from sexpgpu_core import api
    from sexpgpu_core.spans import Source

    clauses = LOADER.format(source=form.source.format(path.name), clauses=form.clauses, batch=64)
    loader = api.load(Source(str(path.parent / "run.lisp"), clauses + REST)).loaders["d"]
    for number in range(BATCHES):
        loader.batch("train", number)
    return loader.examples("train") or 0


def plain(form: Format, path: Path) -> int:
    rows, r = form.plain(path), np.random.default_rng(0)
    for _ in range(BATCHES):
        rows(r.integers(0, 1000, 64))
    return 0


def write(form: Format, path: Path, bytes_: int) -> None:
    """A file of so many bytes: what a writer takes for them is measured first."""
    form.write(path, 1 << 20)
    form.write(path, bytes_ * (1 << 20) // path.stat().st_size)


WAYS = {"ours": ours, "plain": plain}


def worker(name: str, way: str, folder: Path) -> None:
    """One measurement, a line of JSON. A small file first: its imports are not the large one's."""
    form, small = LARGE[name], folder / f"small-{name}"
    form.write(small, 1 << 20)
    WAYS[way](form, small)
    base, start = peak(), time.process_time()
    WAYS[way](form, folder / name)
    spent = time.process_time() - start
    row = {"peak_MB": peak() - base, "cpu_s": spent, "bytes": (folder / name).stat().st_size}
    sys.stdout.write(json.dumps(row))


def measured(name: str, way: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--worker", name, way, str(folder)]
    environment = {**os.environ, "SEXPGPU_CACHE": str(folder / "cache")}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    row: dict[str, Any] = json.loads(told.stdout)
    return {"format": name, "way": way, **row, "MB_per_s": row["bytes"] / 1e6 / row["cpu_s"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--most", type=float, default=96.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=3)
    given = parser.parse_args()
    if given.worker:
        name, way, folder = given.worker
        return worker(name, way, Path(folder))
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, form in LARGE.items():
            write(form, Path(folder) / name, given.megabytes * 1_000_000)
            for way in WAYS:
                found.append(row := measured(name, way, Path(folder)))
                sys.stdout.write(
                    f"{name:<6} {row['bytes'] / 1e6:5.0f} MB {way:<6} "
                    f"peak {row['peak_MB']:6.0f} MB, {row['MB_per_s']:6.1f} MB/s\n"
                )
                sys.stdout.flush()
            (Path(folder) / name).unlink()
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1))
    over = [r for r in found if r["way"] == "ours" and r["peak_MB"] > given.most]
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
