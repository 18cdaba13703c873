"""Loaders of the texts of their forms, as a run file declares them."""

from __future__ import annotations

from pathlib import Path

from sexpgpu_core import api
from sexpgpu_core.data.loader import Loader
from sexpgpu_core.spans import Source

REST = """
(defmodel net () (defparam w () :init 0) w)
(defun objective () (net))
(defun optimizer () (groups))
(defrun :steps 1)
"""


def loader_of(clauses: str, folder: Path, seed: int | None = None) -> Loader:
    """The loader d of some clauses, with stages unless they have some."""
    stages = "" if "(stage " in clauses else "(stage :train)"
    batch = "" if "(whole)" in clauses else "(batch 2)"
    text = f"(defloader d {clauses} {stages} {batch}){REST}"
    return api.load(Source(str(folder / "run.lisp"), text), seed=seed).loaders["d"]
