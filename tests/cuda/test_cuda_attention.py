"""Attention as a library's two calls on the emulated device: beside its expansion, in 16 bits,
causal, with windows and grouped heads, and out of a whole training step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_models import FOLDER, compiled, records
from cuda_programs import graph_of, launched, normal, opened, planned

from sexpgpu_core import api
from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.passes.calls import library_calls, refusal
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_cuda.device import EmulatedDevice
from sexpgpu_cuda.work import LibraryCall

CHOICES: list[tuple[dict[str, Any], tuple[int, int, int]]] = [
    ({"causal": True}, (12, 4, 4)),
    ({"causal": True, "window": 3}, (9, 4, 2)),
    ({"scale": 0.3}, (7, 6, 2)),
]


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize(("given", "sizes"), CHOICES)
def test_both_passes_are_those_of_the_expansion(
    given: dict[str, Any], sizes: tuple[int, int, int], dtype: str
) -> None:
    n, heads, few = sizes
    shapes = [(2, n, heads, 8), (2, n, few, 8), (2, n, few, 8), (2, n, heads, 8)]
    inputs = {k: normal(s, dtype, i) for i, (k, s) in enumerate(zip("qkvg", shapes))}

    def make(b, q, k, v, g):  # type: ignore[no-untyped-def]
        out, kept = b.several("attention-forward", q, k, v, **given)
        back = b.several("attention-backward", g, q, k, v, out, kept, **given)
        return {"out": out, "kept": kept, **dict(zip(("dq", "dk", "dv"), back))}

    graph = graph_of(make, **inputs)
    found = launched(graph, inputs).results
    wanted = run(graph, inputs, OPERATIONS)
    allowed = 3e-5 if dtype == "f32" else 3e-2
    for name, value in wanted.items():
        scale = float(np.abs(value.astype("f8")).max())
        np.testing.assert_allclose(
            found[name].astype("f8"), value.astype("f8"), rtol=allowed, atol=allowed * scale
        )


def attended(**more: Any) -> Any:
    b = Builder(OPERATIONS)
    q, k, v = (b.input(n, "batch", "f32", (2, 8, 2, 8)) for n in "qkv")
    b.graph.results = {"loss": b("reduce-sum", b("attention", q, k, v, **more), axes=(0, 1, 2, 3))}
    return b.graph


def test_gradients_through_the_calls_are_those_of_attention() -> None:
    inputs = {n: normal((2, 8, 2, 8), seed=i) for i, n in enumerate("qkv")}
    results = []
    for library in (lambda name: False, lambda name: True):
        graph = library_calls(attended(causal=True), OPERATIONS, library, "bf16")
        values = {n.get("name"): Value(n) for n in graph.inputs()}
        found = differentiate(graph, OPERATIONS, graph.results["loss"], values)
        graph.results = {n: v for n, v in found.items() if v is not None}
        results.append(run(graph, inputs, OPERATIONS))
    for name, value in results[0].items():
        np.testing.assert_allclose(results[1][name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("more", "precision", "why"),
    [
        ({"causal": True}, "bf16", None),
        ({"causal": True}, "f32", "it is not in 16 bits"),
        ({"soft-cap": 2.0}, "bf16", "its scores have a soft cap"),
        ({"window": 2}, "bf16", "its window looks ahead"),
    ],
)
def test_what_no_library_takes_is_refused_with_the_reason(
    more: dict[str, Any], precision: str, why: str | None
) -> None:
    (node,) = (n for n in attended(**more).nodes if n.operation == "attention")
    assert refusal(node, precision) == why


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_model_in_16_bits_has_a_call_a_block_and_pass(name: str) -> None:
    calls = [r.name for r in records(compiled(name, "small")) if isinstance(r, LibraryCall)]
    assert calls.count("attention-forward") == calls.count("attention-backward") == 2


class Told:
    """A run's progress: the losses of its steps."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def began(self, folder: object) -> None: ...

    def warnings(self, found: object) -> None: ...

    def event(self, event: dict[str, Any]) -> None:
        if event["event"] == "step":
            self.losses.append(event["metrics"]["train/loss"])


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_steps_in_16_bits_with_the_calls_are_the_references(name: str, tmp_path: Path) -> None:
    losses = []
    for device in ("cuda-emulated", "reference"):
        file, told = FOLDER / f"{name}.lisp", Told()
        small = (("depth", "1"), ("context", "16"), ("width", "32"))
        api.run(
            file,
            variant="small",
            sets=small,
            steps=2,
            device=device,
            runs_root=tmp_path / device,
            progress=told,
        )
        losses.append(told.losses)
    assert len(losses[0]) == 1
    assert losses[0] == pytest.approx(losses[1], rel=3e-3)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
@pytest.mark.parametrize(("given", "sizes"), CHOICES)
def test_values_and_gradients_in_16_bits_are_those_of_f64(
    given: dict[str, Any], sizes: tuple[int, int, int], dtype: str
) -> None:
    """Through autodiff and the precision pass, both calls a library's."""
    n, heads, few = sizes
    shapes = {"q": (2, n, heads, 8), "k": (2, n, few, 8), "v": (2, n, few, 8)}
    inputs = {name: normal(shape, seed=i) for i, (name, shape) in enumerate(shapes.items())}
    graph = weighed(shapes, given)
    called = library_calls(graph, OPERATIONS, EmulatedDevice().library, dtype)
    called = with_gradients(called)
    small, _ = optimize(called, OPERATIONS, EmulatedDevice().library, dtype)
    assert sum(n.operation.startswith("attention-") for n in small.nodes) == 2
    found = opened(planned(small)).program("step").launch(inputs, {}).outcome().results
    wide = {name: value.astype("f8") for name, value in inputs.items()}
    exact = run(with_gradients(weighed(shapes, given, "f64")), wide, OPERATIONS)
    allowed = 3e-2 if dtype == "bf16" else 4e-3
    for name, value in exact.items():
        scale = max(float(np.abs(value).max()), 1e-3)
        np.testing.assert_allclose(found[name].astype("f8"), value, rtol=0, atol=allowed * scale)


def weighed(shapes: Any, given: dict[str, Any], dtype: str = "f32") -> Any:
    """Attention, and a sum of it weighed by its squares."""
    b = Builder(OPERATIONS)
    q, k, v = (b.input(name, "batch", dtype, shape) for name, shape in shapes.items())
    out = b("attention", q, k, v, **given)
    loss = b("reduce-sum", b("multiply", b("square", out), out), axes=(0, 1, 2, 3))
    b.graph.results = {"out": out, "loss": loss}
    return b.graph


def with_gradients(graph: Any) -> Any:
    values = {n.get("name"): Value(n) for n in graph.inputs()}
    found = differentiate(graph, OPERATIONS, graph.results["loss"], values)
    graph.results = {"out": graph.results["out"], **{n: v for n, v in found.items() if v}}
    return graph
