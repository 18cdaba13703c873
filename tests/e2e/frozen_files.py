"""A run whose first weights are loaded and frozen, and what of them lies on a disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from e2e_program import Folder, network

from sexpgpu_core.checkpoint import tensors
from sexpgpu_core.checkpoint.shared import FILE

LOAD = '(load-params "base.safetensors" :into "network" :missing ("**/down" "**/up"))'
FROZEN = '(group (select :path "**/w") :frozen)'
ADAPTED = """(defmodel adapted (x out)
  (defparam w ((dim x -1) out))
  (defparam down ((dim x -1) 2) :init (normal 0.1))
  (defparam up (2 out) :init 0)
  (+ (matmul x w) (matmul (matmul x down) up)))
"""
MODEL = """
  (adapted (relu (adapted (one-hot x 27 :dtype :f32) {width} :name "in")) 27 :name "out")"""


def adapted(run: str, width: int = 64) -> str:
    """The text of a file in which small maps learn beside what base.safetensors holds."""
    text = network(run=run, model=MODEL.format(width=width))
    parts = {
        "(defmodel network": f"{ADAPTED}\n(defmodel network",
        "(defun objective": f"{LOAD}\n\n(defun objective",
        "(groups (group :rest": f"(groups :ema 0.9 {FROZEN} (group :rest",
    }
    for old, new in parts.items():
        assert old in text
        text = text.replace(old, new)
    return text


def base(folder: Folder, width: int = 64) -> None:
    draw = np.random.default_rng(5)
    shapes = {"in/w": (27, width), "out/w": (width, 27)}
    arrays = {n: draw.normal(0, 0.1, s).astype(np.float32) for n, s in shapes.items()}
    pieces = tensors.chunks(list(arrays), arrays.__getitem__)
    folder.write("base.safetensors", b"".join(bytes(piece) for piece in pieces))


def files(run: Path) -> list[int]:
    """The inode of each checkpoint's frozen values."""
    return [p.stat().st_ino for p in sorted((run / "checkpoints").glob(f"step-*/{FILE}"))]
