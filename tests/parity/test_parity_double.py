"""Runs of `:precision :f64` on `cpu` beside PyTorch in f64: every example, and a ResNet at its own
rate. In f32 that one's rounding grows tenfold in three steps on either side, so that there losses
do not tell whether the mathematics are the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.models import MODELS, Spec, spec_of
from bench.ours import Ours
from bench.theirs import Theirs
from bench.twins import Setup
from sexpgpu_core.spans import Source

STEPS = 10
OWN = 50
"""Steps of the ResNet at its own rate."""


def double(spec: Spec, sets: Mapping[str, str] = {}) -> tuple[Ours, Setup]:
    """An example in a run of f64, and what its twin is built by."""
    text = spec.file.read_text("utf-8")
    source = Source(str(spec.file), text.replace("(defrun ", "(defrun :precision :f64 ", 1))
    ours = Ours(source, {**dict(spec.sets), **sets}.items())
    plain = {n: v for n, v in ours.knobs().items() if isinstance(v, (int, float))}
    return ours, Setup(plain, ours.weights(), ours.job.steps)


@pytest.fixture(autouse=True)
def in_double(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What twins say to be a float is a double."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)


def apart(ours: Ours, theirs: Theirs, steps: int) -> list[float]:
    """How far losses are from the twin's, relative, step by step."""
    found = []
    for at in range(steps):
        batch = ours.batch(at)
        given = (batch | ours.drawn(at)).items()
        wide = {n: a.astype("f8") if a.dtype == np.float32 else a for n, a in given}
        wanted = theirs.step(at, theirs.batch(wide))
        found.append(abs(ours.step(at, batch) - wanted) / abs(wanted))
    ours.close()
    return found


@pytest.mark.parametrize("name", MODELS)
def test_losses_in_f64_are_those_of_the_twin(name: str, tmp_path: Path, worst: Any) -> None:
    if name == "digits":
        pytest.importorskip("sklearn")
    ours, setup = double(spec_of(name, tmp_path))
    found = apart(ours, Theirs(name, setup), STEPS)
    worst(f"{name} in f64, {STEPS} steps", max(found))
    assert max(found) < 1e-12


def test_a_resnet_at_its_own_rate_is_its_twin_in_f64(tmp_path: Path, worst: Any) -> None:
    spec = spec_of("resnet-mnist", tmp_path)
    ours, setup = double(spec, {"lr": "0.1", "width": "4"})
    found = apart(ours, Theirs("resnet-mnist", setup), OWN)
    worst(f"resnet-mnist at rate 0.1 in f64, {OWN} steps", max(found))
    assert max(found) < 1e-12
