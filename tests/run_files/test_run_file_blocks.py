"""A step is the same step in 1, 4 and 16 microbatches: gradients, clipping, EMA, metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_file import HERE, arrays, events, train

from sexpgpu_core import api


def trained(tmp_path: Path, blocks: int, **sets: str) -> tuple[dict[str, Any], dict[str, float]]:
    """Arrays at the end, and the metrics of the only step."""
    chosen = [("blocks", str(blocks)), *sets.items()]
    folder = train("masked_gpt", tmp_path, sets=chosen, steps=1, name=f"m{blocks}")
    (step,) = events(folder, "step")
    return arrays(folder), step["metrics"]


def apart(a: Any, b: Any) -> float:
    """How far b is from a, relative to a's size."""
    return float(np.linalg.norm(a.astype("f8") - b) / max(np.linalg.norm(a.astype("f8")), 1e-30))


@pytest.mark.parametrize("bound", ["nil", "0.25"])
def test_microbatches_give_the_gradients_of_the_whole_with_a_ragged_mask(
    tmp_path: Path, bound: str
) -> None:
    whole, metrics = trained(tmp_path, 1, bound=bound)
    gradients = [name for name in whole if name.endswith("/g")]
    assert len(gradients) == 28
    for blocks in (4, 16):
        parts, theirs = trained(tmp_path, blocks, bound=bound)
        assert parts.keys() == whole.keys()
        far = {name: apart(whole[name], parts[name]) for name in gradients}
        assert max(far.values()) <= 1e-6, max(far.items(), key=lambda item: item[1])
        for name in whole:
            assert apart(whole[name], parts[name]) <= 1e-6, name
        for name in ("train/tokens", "train/most"):  # a sum and a maximum, both whole numbers
            assert theirs[name] == metrics[name]
        assert theirs["train/loss"] == pytest.approx(metrics["train/loss"], rel=1e-6)
        assert theirs["train/objective"] == pytest.approx(metrics["train/objective"], rel=1e-6)


def test_rows_that_are_drawn_without_a_field_are_others_in_each_block(tmp_path: Path) -> None:
    """Of a loader of no fields too a block draws its own rows, not those of the first."""
    text = (HERE / "physics.lisp").read_text(encoding="utf-8")
    found = {}
    for blocks in (1, 4):
        path = tmp_path / f"m{blocks}.lisp"
        said = text.replace(":steps 20", f":steps 2 :microbatches {blocks}")
        path.write_text(said, encoding="utf-8")
        found[blocks] = arrays(api.run(path, runs_root=tmp_path).folder)
    for name, a in found[1].items():
        assert apart(a, found[4][name]) <= 1e-4, name
