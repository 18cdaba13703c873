"""`checkpoint` inside a scan: what `check` promises and what a process holds are both less."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from scans import held, promised

FILE = """(require "sexpgpu/optim")
(defknob trips 10 "Of the scan." :type (integer 1))
(defloader data (source (none :examples 64)) (stage :train) (batch 8))
(defmodel net ()
  (defparam w (64 64) :init (normal 0.1))
  (scan (lambda (h x) (declare (ignore x)) {body}) (ones '(8 64)) nil :length trips))
(defun objective () (metric "loss" (mean (square (net)))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 0.01))))
(defrun :steps 2)
"""
BODY = "(tanh (matmul (gelu (matmul (sin (matmul h w)) w)) w))"
TRIPS = 3000


def over_one_trip(folder: Path, body: str) -> tuple[int, int]:
    """Bytes promised and held of many trips, over those of one."""
    text = FILE.replace("{body}", body)
    (folder / "scan.lisp").write_text(text, encoding="utf-8")
    sizes = [(promised(text, n), held(folder, n)) for n in (1, TRIPS)]
    return sizes[1][0] - sizes[0][0], sizes[1][1] - sizes[0][1]


@pytest.mark.skipif(sys.platform == "win32", reason="a process is asked what it held by wait4")
def test_a_checkpoint_in_a_scan_lowers_what_is_promised_and_what_is_held(tmp_path: Path) -> None:
    plain_promised, plain_held = over_one_trip(tmp_path, BODY)
    promised_now, held_now = over_one_trip(tmp_path, f"(checkpoint {BODY})")
    kept = TRIPS * 8 * 64 * 4
    assert plain_promised - promised_now >= 0.9 * kept
    assert plain_held - held_now >= 0.7 * kept
    assert held_now <= 1.1 * promised_now + 2_000_000
