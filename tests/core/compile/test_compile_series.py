"""Targets name what a pass or a training stage reports; everything else is E-SERIES."""

from __future__ import annotations

from pathlib import Path

import pytest

from sexpgpu_core import api
from sexpgpu_core.spans import Source

pytest.importorskip("sexpgpu_nn", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_optim", reason="the run files here use nn and optim")
pytest.importorskip("sexpgpu_cpu", reason="what is compiled here is for its devices")

FILE = """(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader data
  (source (digits))
  (stage :train :split (0 0.8))
  (stage :val :split (0.8 1))
  (batch 8))
(defmodel net (x) (nn:linear x 10))
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
{}(deftarget "{}" :below 1)
(defun optimizer () (groups (group :rest (optim:adamw))))
(defrun :steps 20)
"""
PASS = "(defeval val :loader (data :val))\n"


@pytest.mark.parametrize(
    ("passes", "series", "codes"),
    [
        (PASS, "val/loss", []),
        (PASS, "train/loss", []),
        ("", "train/loss", []),
        ("", "val/loss", ["E-SERIES"]),
        (PASS, "val/los", ["E-SERIES"]),
        (PASS, "train/los", ["E-SERIES"]),
    ],
)
def test_a_target_names_what_is_reported(
    passes: str, series: str, codes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEXPGPU_CACHE", str(tmp_path))
    report = api.check(Source("x.lisp", FILE.format(passes, series)), device="cpu")
    assert [d.code for d in report.diagnostics] == codes
