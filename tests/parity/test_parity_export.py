"""What `checkpoint export` writes is a state dict of PyTorch's same model, and the way back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file as load_arrays
from safetensors.torch import load_file, save_file

FILE = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader d
  (source (npz "d.npz"))
  (stage :train :split (0 0.8))
  (stage :val :split (0.8 1))
  (batch 32))
(defmodel net (x)
  (let ((h (relu (nn:linear x 24 :name (path "layers" 0)))))
    (nn:linear (nn:layer-norm h :name "norm") 10 :name (path "layers" 1))))
{load}
(defun objective (&key image label)
  (metric "loss" (nn:cross-entropy (net image) label)))
(defeval val :loader (d :val))
(defun optimizer () (groups (group :rest (optim:adamw :lr {rate} :weight-decay 0))))
(defrun :steps {steps} :seed 2)
"""
RENAMES = (
    "net=model",
    "model/layers/{i}/w=model/layers/{i}/weight",
    "model/layers/{i}/b=model/layers/{i}/bias",
    "/=.",
)
LOAD = """(load-params "w.safetensors" :from "model" :into "net" :transpose ("**/layers/*/weight")
  :map (("layers/{i}/weight" "layers/{i}/w") ("layers/{i}/bias" "layers/{i}/b")))"""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(64, 24), torch.nn.Linear(24, 10)])
        self.norm = torch.nn.LayerNorm(24)

    def forward(self, x: Any) -> Any:
        return self.layers[1](self.norm(torch.relu(self.layers[0](x))))


class Whole(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.model = Net()


def program(folder: Path, *argv: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "sexpgpu_cli", *argv], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run(folder: Path, name: str, **given: Any) -> float:
    """Train; the loss of its pass."""
    (folder / f"{name}.lisp").write_text(FILE.format(**given))
    told = json.loads(program(folder, "run", f"{name}.lisp", "--name", name, "--json"))
    return float(told["metrics"]["val/loss"]["value"])


def points(folder: Path) -> tuple[Any, Any]:
    """Writes the data; the fifth that the pass reads."""
    rng = np.random.default_rng(4)
    image = rng.random((400, 64)).astype(np.float32)
    label = (image[:, :10].argmax(1)).astype(np.int32)
    np.savez(folder / "d.npz", image=image, label=label)
    return torch.tensor(image[320:]), torch.tensor(label[320:], dtype=torch.long)


def test_an_export_is_a_state_dict_that_gives_the_same_loss(tmp_path: Path) -> None:
    image, label = points(tmp_path)
    ours = run(tmp_path, "first", load="", rate=1e-2, steps=40)
    flags = [word for text in RENAMES for word in ("--rename", text)]
    program(tmp_path, "checkpoint", "export", "first", "-o", "w.safetensors", *flags,
            "--transpose", "net/layers/*/w")  # fmt: skip
    whole = Whole()
    whole.load_state_dict(load_file(tmp_path / "w.safetensors"))
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(whole.model(image), label)
    assert abs(float(loss) - ours) < 1e-5


def test_a_state_dict_is_loaded_and_gives_the_same_loss(tmp_path: Path) -> None:
    torch.manual_seed(5)
    whole = Whole()
    save_file(whole.state_dict(), tmp_path / "w.safetensors")
    image, label = points(tmp_path)
    ours = run(tmp_path, "second", load=LOAD, rate=0.0, steps=1)
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(whole.model(image), label)
    assert abs(float(loss) - ours) < 1e-5
    held = load_arrays(tmp_path / "runs/second/checkpoints/step-00000001/params.safetensors")
    weight = whole.state_dict()["model.layers.0.weight"].numpy()
    np.testing.assert_array_equal(held["net/layers/0/w"], weight.T)
