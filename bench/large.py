"""What large files take: `python bench/large.py [--megabytes 200] [--formats csv,hf] [--most 96]`.

A csv, a jsonl and two text files (`:chars`, and `:hf` with a byte-level BPE of 4,000 tokens) of so
many bytes are each checked by the program, which scans none of 64 MB or more; then opened for the
first time and read in shuffled batches, by a process of its own; then read plainly by NumPy (jsonl
by json into NumPy; `hf` in one call of its library), by another. Told are the peak of memory above
what imports took, seconds, and megabytes of the file by second of CPU time. Ends with 1 where a
loader takes more than `--most` MB, `hf` more than three times as many. `--json FILE` keeps it.
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
TOKENIZER = "tokenizer.json"


def _write_words(path: Path, bytes_: int) -> None:
    """Words that are not alike, in lines; and beside them a tokenizer that was trained on some."""
    r = np.random.default_rng(0)
    letters = r.choice(np.frombuffer(b"etaoinshrdlucmfwypvbgk", np.uint8), (20_000, 12))
    words = [row[:n].tobytes() for row, n in zip(letters, r.integers(2, 12, len(letters)))]
    if not (path.parent / TOKENIZER).exists():
        _train(path.parent / TOKENIZER, b" ".join(words).decode())
    with open(path, "wb") as file:
        while file.tell() < bytes_:
            some = [words[at] for at in np.minimum(r.zipf(1.2, 10_000) - 1, len(words) - 1)]
            file.write(b"\n".join(b" ".join(some[i : i + 20]) for i in range(0, 10_000, 20)))


def _train(path: Path, text: str) -> None:
    import tokenizers as of

    made, split = of.Tokenizer(of.models.BPE()), of.pre_tokenizers.ByteLevel
    made.pre_tokenizer = split(add_prefix_space=False)
    given = {"initial_alphabet": split.alphabet(), "show_progress": False}
    made.train_from_iterator([text], of.trainers.BpeTrainer(vocab_size=4000, **given))
    made.save(str(path))


def _plain_words(path: Path) -> Callable[[np.ndarray], Any]:
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(path.parent / TOKENIZER)).encode(path.read_text())
    ids = np.asarray(found.ids, np.int32)
    return lambda rows: np.stack([ids[i * 257 : (i + 1) * 257] for i in rows])


OF_WORDS = f'(source (text-files "{{}}" :tokenizer (:hf "{TOKENIZER}")))'
WORDS = Format("hf", OF_WORDS, "(windows 257)", _write_words, _plain_words)
LARGE = {
    form.name: form
    for form in (*FORMATS, TEXT, WORDS)
    if form.name in ("csv", "jsonl", "text", "hf")
}
MORE = {"hf": 3}
"""How many times `--most` a format may take: what the library makes of a piece is large."""
WHOLE = 32
"""Megabytes above which `hf` is not read plainly: its library takes some 130 bytes for each."""


def peak() -> float:
    """MB that this program has held at most; what getrusage says has the program's before exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def run_file(form: Format, path: Path) -> str:
    clauses = LOADER.format(source=form.source.format(path.name), clauses=form.clauses, batch=64)
    return clauses + REST


def ours(form: Format, path: Path) -> int:
    """Batches out of a loader that opens a file; how many examples it has."""
    from sexpgpu_core import api
    from sexpgpu_core.spans import Source

    loader = api.load(Source(str(path.parent / "run.lisp"), run_file(form, path))).loaders["d"]
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


def checked(name: str, folder: Path) -> dict[str, Any]:
    """Seconds of a check by the program, with a cache that knows nothing of the file; whether it
    left the scan to a run."""
    form, path = LARGE[name], folder / name
    (folder / "run.lisp").write_text(run_file(form, path).replace("(net))", '(metric "x" (net)))'))
    command = [sys.executable, "-m", "sexpgpu_cli", "check", "run.lisp"]
    environment = {**os.environ, "SEXPGPU_CACHE": str(folder / "of-check")}
    start = time.perf_counter()
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    spent = time.perf_counter() - start
    return {"format": name, "way": "check", "seconds": spent, "bytes": path.stat().st_size,
            "unread": "W-DATA-UNREAD" in told.stderr + told.stdout}  # fmt: skip


def shown(row: dict[str, Any]) -> str:
    begin = f"{row['format']:<6} {row['bytes'] / 1e6:5.0f} MB {row['way']:<6}"
    if row["way"] == "check":
        return f"{begin} {row['seconds']:.2f} s" + (", not scanned" if row["unread"] else "")
    return f"{begin} peak {row['peak_MB']:6.0f} MB, {row['MB_per_s']:6.1f} MB/s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--most", type=float, default=96.0)
    parser.add_argument("--formats", default=",".join(LARGE))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", nargs=3)
    given = parser.parse_args()
    if given.worker:
        name, way, folder = given.worker
        return worker(name, way, Path(folder))
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for name in given.formats.split(","):
            write(LARGE[name], folder / name, given.megabytes * 1_000_000)
            for way in ("check", *WAYS):
                if (name, way) == ("hf", "plain") and given.megabytes > WHOLE:
                    continue
                row = checked(name, folder) if way == "check" else measured(name, way, folder)
                found.append(row)
                sys.stdout.write(shown(row) + "\n")
                sys.stdout.flush()
            (folder / name).unlink()
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1))
    ours = [row for row in found if row["way"] == "ours"]
    over = [r for r in ours if r["peak_MB"] > given.most * MORE.get(r["format"], 1)]
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
