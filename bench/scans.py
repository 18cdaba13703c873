"""What a scan costs by its length: `python bench/scans.py [--lengths 1 10 10000] [--times 3]`.

The training step of a recurrent cell of width 64 over so many trips: CPU milliseconds to compile
it, the memory that `check` promises, and what a process that runs two steps comes to hold beside
one of a single trip.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import report

from sexpgpu_core import api
from sexpgpu_core.spans import Source

FILE = """(require "sexpgpu/optim")
(defknob trips 10 "Of the scan." :type (integer 1))
(defloader data (source (none :examples 64)) (stage :train) (batch 8))
(defmodel net ()
  (defparam w (64 64) :init (normal 0.1))
  (defparam b (64))
  (scan (lambda (h x) (declare (ignore x)) (tanh (+ (matmul h w) b)))
        (ones '(8 64)) nil :length trips{keep}))
(defun objective () (metric "loss" (mean (square (net)))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 0.01))))
(defrun :steps 2)
"""
KEEP = {"all": "", "carry": " :save :carry", "segments": " :save :carry :segments 100"}


def compiled(text: str, trips: int) -> Any:
    loaded = api.load(Source("scan.lisp", text), sets=[("trips", str(trips))])
    return api.compile(loaded, api.device("cpu", loaded.registry))


def promised(text: str, trips: int) -> int:
    found = api.check(Source("scan.lisp", text), sets=[("trips", str(trips))])
    assert found.summary is not None, found.diagnostics
    return int(found.summary["memory"]["peak_bytes"])


SAFE = ("-P",) if sys.version_info >= (3, 11) else ()
PEAK = """
import resource, sys
from pathlib import Path
from sexpgpu_cli.main import run
code = run(sys.argv[2:])
told = Path("/proc/self/status")
if told.exists():
    lines = told.read_text().splitlines()
    most = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024
else:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
Path(sys.argv[1]).write_text(str(most))
sys.exit(code)
"""
"""A run that writes the most that it held. What wait4 tells is no less than its parent held."""


def held(folder: Path, trips: int) -> int:
    """Bytes that a process of its own holds at most while it runs; its kernels were compiled by
    one before, since compiling them holds more than they do."""
    words = [sys.executable, *SAFE, "-c", PEAK, str(folder / "most"), "run", "scan.lisp", "-q"]
    words += ["--set", f"trips={trips}"]
    for _ in range(2):
        subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return int((folder / "most").read_text())


def rows(keep: str, lengths: list[int], times: int) -> list[dict[str, Any]]:
    text, found = FILE.format(keep=KEEP[keep]), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scan.lisp").write_text(text, encoding="utf-8")
        least = held(folder, 1)
        few = promised(text, 1)
        for trips in lengths:
            runs = [compiled(text, trips).phases for _ in range(times)]
            more = promised(text, trips)
            found.append({
                "save": keep,
                "trips": trips,
                "nodes": runs[0].counts["nodes"],
                "compile_ms": 1e3 * min(phases.total for phases in runs),
                "promised_mb": more / 1e6,
                "promised_over_one_trip_mb": (more - few) / 1e6,
                "held_over_one_trip_mb": (held(folder, trips) - least) / 1e6,
            })  # fmt: skip
            report.tell(found[-1])
    return found


def main() -> None:
    parser = report.arguments(__doc__)
    parser.add_argument("--lengths", type=int, nargs="*", default=[1, 10, 10_000])
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    report.tell(report.machine())
    tables = [rows(keep, options.lengths, options.times) for keep in KEEP]
    report.finish("scans", tables, options.save)


if __name__ == "__main__":
    main()
