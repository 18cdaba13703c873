"""What has no axes keeps none: parameters, states and constants, wherever their value is from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from run_file import arrays
from safetensors.numpy import save_file

from sexpgpu_core import api

TEXT = """(require "sexpgpu/optim")
(defloader points (source (digits)) (batch 8) (stage :train))
(defparameter *mean* (stage-stat (points :train) image :mean))
(defparameter *shift* (file-tensor (npz "shift.npz" :field "shift")))
(defmodel net (x)
  (defparam w (64) :init (normal 0.1))
  (defparam drawn () :init {init})
  (defparam made () :init (tensor 0.25))
  (defparam copied () :init (initial made))
  (defparam kept () :init (sqrt *mean*))
  (defparam stored ())
  (defstate seen () :init (exp *shift*))
  (setf seen (+ seen 1.0))
  (+ (* drawn (sum (* x w) :axis 1)) made copied kept stored *shift*))
(load-params "w.safetensors" :missing ("**/{{w,drawn,made,copied,kept}}"))
(defun objective (&key image) (mean (square (- (net image) *mean*))))
(defun optimizer () (groups :ema 0.9 (group :rest (optim:adamw :lr 0.0))))
(defrun :steps 2 :checkpoint (:every 1) :precision {precision})
"""
MEAN = 4.884164579855314
"""Of all pixels of scikit-learn's digits."""
INITS = ("(normal 0.1)", "(truncated-normal 0.1)", "(uniform 0.1 0.2)", "(lecun)", "(glorot)",
         "(he)", "(orthogonal)", "0.5")  # fmt: skip


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize("precision", [":f32", ":f64"])
def test_scalars_are_drawn_made_read_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, init: str, precision: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("shift.npz", shift=np.float32(0.5))
    save_file({"net.stored": np.asarray(0.75, "f4")}, "w.safetensors")
    path = tmp_path / "x.lisp"
    path.write_text(TEXT.format(init=init, precision=precision))
    dtype = np.dtype("f4" if precision == ":f32" else "f8")
    first = api.run(path, steps=1)
    assert first.exit == 0, first.error
    again = api.run(path, resume=first.folder.name, resume_changed=True)
    assert again.exit == 0, again.error
    found = {n: a for n, a in arrays(again.folder).items() if not n.endswith("/w")}
    values = {n: a for n, a in found.items() if "/w/" not in n}
    assert {a.shape for a in values.values()} == {()}
    assert {a.dtype for a in values.values()} == {dtype}
    assert float(found["params:net/stored"]) == 0.75
    assert float(found["params:net/copied"]) == 0.25
    assert float(found["state:state:net/seen"]) == pytest.approx(np.exp(0.5) + 2, rel=1e-6)
    assert float(found["params:net/kept"]) == pytest.approx(MEAN**0.5, rel=1e-5)
