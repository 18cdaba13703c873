"""Run files about data train, and resume to the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from run_file import HERE, Cutting, arrays, events, train

from sexpgpu_core import api


@pytest.mark.parametrize("name", ["names", "packed", "mixture"])
def test_a_file_about_data_learns_and_resumes_to_the_same_bits(name: str, tmp_path: Path) -> None:
    whole = train(name, tmp_path, name="it")
    steps = [e["metrics"]["train/loss"] for e in events(whole, "step")]
    assert steps[-1] < steps[0]
    wanted = arrays(whole)
    step = sorted((whole / "checkpoints").glob("step-*"))[0].name.removeprefix("step-")
    again = train(name, tmp_path, resume=f"it@{int(step)}")
    assert all(np.array_equal(arrays(again)[n], a) for n, a in wanted.items())


def test_packed_rows_hold_whole_names() -> None:
    loader = api.load(HERE / "packed.lisp").loaders["names"]
    names = (HERE / "names.txt").read_text().split()
    seen = []
    for stage in ("train", "val"):
        for batch in loader.evaluation(stage):
            for tokens, segments in zip(batch["tokens"], batch["segments"]):
                parts = [tokens[segments == k] for k in range(1, segments.max() + 1)]
                seen += [loader.reader().decode(part).strip() for part in parts]
    assert sorted(seen) == sorted(names)


LONG = """
(require "sexpgpu/nn")
(require "sexpgpu/optim")
(defloader text
  (source (token-shards "t.bin" :vocab 64))
  (windows 9)
  (stage :train)
  (batch 4))
(defmodel net (x) (nn:linear (nn:embedding x 64 8) 64))
(defun objective (&key tokens)
  (metric "loss" (nn:cross-entropy (net (slice tokens :axis 1 :end -1))
                                   (slice tokens :axis 1 :start 1))))
(defun optimizer () (groups (group :rest (optim:adamw :lr 1e-2))))
(defrun :steps {steps} :seed 1 :checkpoint (:every 20 :keep 2))
"""


def test_a_file_cut_short_while_it_is_read_ends_the_run_with_its_checkpoints(
    tmp_path: Path,
) -> None:
    tokens = np.random.default_rng(0).integers(0, 64, 20_000).astype(np.uint16)
    (tmp_path / "t.bin").write_bytes(tokens.tobytes())
    file = tmp_path / "long.lisp"
    file.write_text(LONG.format(steps=400))
    cutting = Cutting(tmp_path / "t.bin")
    done = api.run(file, runs_root=tmp_path / "runs", progress=cutting)
    assert (done.exit, done.state) == (3, "failed")
    assert done.error is not None
    assert done.error.code == "E-DATA-LOST"
    assert "t.bin" in done.error.message
    assert "resume" in (done.error.hint or "")
    saved = sorted((done.folder / "checkpoints").glob("step-*"))
    assert saved
    cutting.mend()
    again = api.run(file, runs_root=tmp_path / "runs", resume="latest")
    assert again.exit == 0
    straight = api.run(file, runs_root=tmp_path / "other")
    for name, a in arrays(straight.folder).items():
        assert np.array_equal(arrays(again.folder)[name], a), name
