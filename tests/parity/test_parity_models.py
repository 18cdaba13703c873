"""Losses of the first 50 steps of each example are those of its PyTorch twin, from the same weights
on the same batches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.models import MODELS, spec_of
from bench.ours import Ours, batches, export
from bench.theirs import Theirs, setup_of

STEPS = 50


@pytest.mark.parametrize("name", MODELS)
def test_losses_of_50_steps_are_those_of_the_twin(name: str, tmp_path: Path, worst: Any) -> None:
    if name == "digits":
        pytest.importorskip("sklearn")
    spec = spec_of(name, tmp_path)
    torch.set_num_threads(1)  # two that wait for each other crawl on a machine that is shared
    ours = Ours(spec.file, spec.sets)
    export(ours, tmp_path, STEPS)
    theirs = Theirs(name, setup_of(tmp_path))
    apart = []
    for at, batch in enumerate(batches(tmp_path)):
        wanted = theirs.step(at, theirs.batch(batch))
        apart.append(abs(ours.step(at, batch) - wanted) / abs(wanted))
    ours.close()
    worst(f"{name}, 10 steps", max(apart[:10]))
    worst(f"{name}, {STEPS} steps", max(apart))
    assert max(apart[:10]) < 1e-4
    assert max(apart) < 1e-2
    assert np.isfinite(apart).all()
