"""A ResNet at its example's own rate, both sides in f64. In f32 its rounding grows tenfold in three
steps on either side, so that there losses do not tell whether the mathematics are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from bench.models import spec_of
from bench.ours import context
from bench.theirs import Theirs
from bench.twins import Setup, placed
from sexpgpu_core import api
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.scalars import evaluate
from sexpgpu_core.spans import Source

STEPS = 50
ROWS = 10
"""Pictures of a batch: NumPy is slow. Half the channels too; blocks and rate are the example's."""


class Double:
    """The graph of the example's step, interpreted in f64 from its initial weights."""

    def __init__(self, file: Path, sets: list[tuple[str, str]]) -> None:
        text = file.read_text("utf-8")
        assert "(batch 50)" in text
        source = Source(file.name, text.replace("(batch 50)", f"(batch {ROWS})"))
        self.loaded = api.load(source, sets=sets)
        compiled = api.compile(self.loaded, api.device("reference", self.loaded.registry))
        self.job = compiled.job
        self.stage = next(iter(self.job.stages.values()))
        self.graph = compiled.steps[self.stage.step.program]
        self.values = {name: self.job.initial(name) for name in self.job.persistent.types}

    def weights(self) -> dict[str, Any]:
        found = {n.partition(":"): v for n, v in self.values.items()}
        return {path: v for (kind, _, path), v in found.items() if kind == "parameter"}

    def batch(self, at: int) -> dict[str, Any]:
        loader = self.loaded.loaders[self.stage.loader]
        return dict(loader.batch(self.stage.stage, at, self.stage.step.fields))

    def step(self, at: int, batch: dict[str, Any]) -> float:
        now = context(at, self.job.steps)
        scalars = {n: evaluate(tree, now) for n, tree in self.stage.step.scalars.items()}
        given = {f"batch:{n}": v for n, v in batch.items()}
        given |= {f"scalar:{n}": np.asarray(v) for n, v in scalars.items()}
        found = run(self.graph, {**self.values, **given}, OPERATIONS, f64=True)
        self.values = {n: found.get(f"next:{n}", v) for n, v in self.values.items()}
        return float(found["loss"])


SHARE = float(np.float32(1 / ROWS)) * ROWS
"""The gradient's graph multiplies by 1 / ROWS, which is a constant of f32."""


def _single(number: float) -> float:
    """What a graph's constant of f32 is."""
    return float(np.float32(number))


def twin_of(ours: Double) -> Theirs:
    """The twin in f64, with our graph's constants."""
    knobs = ours.loaded.experiment.knobs
    plain = {n: k.value for n, k in knobs.items() if isinstance(k.value, (int, float))}
    theirs = Theirs("resnet-mnist", Setup(plain, ours.weights(), ours.job.steps))
    model: Any = theirs.call.double()
    with torch.no_grad():
        for path, (parameter, turn) in theirs.twin.places(model).items():
            parameter.copy_(torch.from_numpy(placed(ours.weights()[path], turn)))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eps = _single(module.eps)
    for group in theirs.optimizer.param_groups:
        group |= {n: _single(group[n]) for n in ("momentum", "weight_decay")}
    theirs.call = lambda **fields: SHARE * model(**fields)
    return theirs


def test_a_resnet_at_its_own_rate_is_its_twin_in_f64(
    tmp_path: Path, worst: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of("resnet-mnist", tmp_path)
    ours = Double(spec.file, [*((n, v) for n, v in spec.sets if n != "lr"), ("width", "4")])
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    theirs = twin_of(ours)
    apart = []
    for at in range(STEPS):
        batch = ours.batch(at)
        wanted = theirs.step(at, theirs.batch(batch)) / SHARE
        apart.append(abs(ours.step(at, batch) - wanted) / abs(wanted))
    worst(f"resnet-mnist at rate 0.1 in f64, {STEPS} steps", max(apart))
    assert max(apart) < 1e-10
