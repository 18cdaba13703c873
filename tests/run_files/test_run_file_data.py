"""Run files about data train, and resume to the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from run_file import HERE, arrays, events, train

from sexpgpu_core import api


@pytest.mark.parametrize("name", ["names", "packed"])
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
