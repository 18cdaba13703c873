"""The GPT of examples/chars.lisp and its twin in PyTorch, from the same weights on one text.

`weights` and what PyTorch gives are by our parameters' paths, in our layout.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from bench.twins.chars import Gpt, Shape, by_path
from sexpgpu_core import api
from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.compile.pipeline import Compiled
from sexpgpu_core.compile.programs import Target, make_unit
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.step import inline

CHARS = Path(__file__).parents[2] / "examples" / "chars.lisp"
SETS = (("depth", "3"), ("width", "96"), ("heads", "3"), ("context", "40"), ("batch-size", "5"))
SIZES = {"depth": 3, "width": 96, "heads": 3, "context": 40, "batch": 5}
"""Odd sizes on purpose: rows and columns are no multiples of a vector."""


class Ours(NamedTuple):
    loaded: api.Loaded
    device: Any
    compiled: Compiled

    @property
    def stage(self) -> Any:
        return next(iter(self.compiled.job.stages.values()))

    @property
    def weights(self) -> dict[str, Any]:
        job = self.compiled.job
        names = [n for n in job.persistent.types if n.startswith("parameter:")]
        random = np.random.default_rng(5)
        # Norm weights begin at 1 and are moved, so that their gradients are no special case.
        moved = lambda x: x * random.uniform(0.8, 1.2, x.shape).astype("f4")
        return {n.partition(":")[2]: moved(job.initial(n)) for n in names}

    def batch(self, step: int) -> dict[str, Any]:
        loader = self.loaded.loaders[self.stage.loader]
        return dict(loader.batch(self.stage.stage, step, self.stage.step.fields))


@cache
def ours(text: str, device: str) -> Ours:
    sets = (*SETS, ("text", f'"{text}"'))
    loaded = api.load(CHARS, sets=sets)
    made = api.device(device, loaded.registry)
    return Ours(loaded, made, api.compile(loaded, made))


def twin(of: Ours, dtype: torch.dtype = torch.float32) -> Gpt:
    """PyTorch's model with our weights."""
    vocabulary = of.weights["gpt/wte"].shape[0]
    model = Gpt(Shape(vocabulary=vocabulary, **SIZES)).to(dtype)
    theirs = by_path(model)
    weights = of.weights
    assert set(theirs) == set(weights)
    with torch.no_grad():
        for path, parameter in theirs.items():
            parameter.copy_(torch.from_numpy(turned(path, weights[path])))
    return model


def turned(path: str, array: Any) -> Any:
    """Between our (in, out) and PyTorch's (out, in)."""
    return array.T.copy() if path.endswith("/w") else array


def loss_of(model: Gpt, batch: dict[str, Any]) -> torch.Tensor:
    tokens = torch.from_numpy(batch["tokens"].astype("i8"))
    loss: torch.Tensor = model(tokens)
    return loss


def gradients(of: Ours, batch: dict[str, Any], threads: int) -> dict[str, Any]:
    """Loss and every gradient as one program of the device; names as paths, and "loss"."""
    graph = _gradient_graph(of)
    job, operations = of.compiled.job, api.operations(of.loaded.registry)
    target = Target(of.device, operations, "f32", of.compiled.phases)
    unit = make_unit("gradients", graph, job.persistent, target)
    session = of.device.open([unit], job.persistent, threads=threads)
    try:
        for path, value in of.weights.items():
            session.write(f"parameter:{path}", value)
        return dict(session.program("gradients").launch(batch, {}).outcome().results)
    finally:
        session.close()


def _gradient_graph(of: Ours) -> Graph:
    operations = api.operations(of.loaded.registry)
    traced = next(iter(of.compiled.stages.values())).traced
    b = Builder(operations)
    went = inline(traced.graph, b, lambda node: None)
    loss = traced.graph.results["loss"]
    value = went[loss.node.id, loss.result]
    inputs = [n for n in b.graph.inputs() if n.get("kind") == "parameter"]
    wanted = {n.get("name"): Value(n) for n in inputs}
    found = differentiate(b.graph, operations, value, wanted)
    b.graph.results = {"loss": value, **{n: g for n, g in found.items() if g is not None}}
    return b.graph
