"""A file that uses the toy, and the program with the toy on its path."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

HAS_API = importlib.util.find_spec("sexpgpu_core.api") is not None
whole = pytest.mark.skipif(not HAS_API, reason="waits for sexpgpu_core.api")

FILE = """
(require "toy")
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader ramp
  (source (toy-ramp :count 64 :width 4))
  (stage :train :split (0 1) :order :shuffled)
  (batch 8))
(defmodel net (x) (nn:linear (toy:softsign x) 1))
(defun objective (&key x)
  (metric "loss" (mean (square (net (cast x :f32))))))
(defun optimizer () (groups (group :rest (optim:sgd :lr 1e-2))))
(defrun :steps 3 :seed 1)
"""

PROGRAM = (sys.executable, "-m", "sexpgpu_cli")


def environment(**more: str) -> dict[str, str]:
    """The environment of a process that finds what is found here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **more}


def program(*argv: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own. `more`: variables of its environment."""
    return subprocess.run(
        (*PROGRAM, *argv), env=environment(**more), capture_output=True, text=True
    )
