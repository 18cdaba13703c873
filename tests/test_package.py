"""The package `sexpgpu`: what docs/outputs.md says of Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sexpgpu

OUTPUT = """
(defoutput scores (&key image)
  (let ((p (softmax (net image) :axis 1)))
    (batch :share p :digit (argmax p :axis 1))))
"""


def test_a_run_is_loaded_and_predicts(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    text = readme.split("```lisp\n")[1].split("```")[0]
    assert "(defmodel net " in text
    file = tmp_path / "digits.lisp"
    file.write_text(text.replace("(defrun ", OUTPUT + "(defrun "), encoding="utf-8")
    ended = sexpgpu.run(file, steps=2, runs_root=tmp_path / "runs")
    assert ended.exit == 0
    with sexpgpu.load(ended.folder) as model:
        found = model.predict("scores", image=np.zeros((3, 64)))
    assert found["share"].shape == (3, 10)
    assert (found["digit"] == found["share"].argmax(1)).all()
