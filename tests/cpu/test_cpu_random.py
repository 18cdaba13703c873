"""Random numbers are the reference's bits, for any number of threads, and for every builtin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.evaluator.definitions import BUILTINS
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.staging.state_rounding import rounded_by
from sexpgpu_cpu.device import CpuDevice
from sexpgpu_cpu.reference import ReferenceDevice

sys.path.append(str(Path(__file__).parents[1] / "graphs"))
sys.path.append(str(Path(__file__).parents[1] / "core" / "staging"))
from both_devices import inputs_of, launched
from staging_case import traced, whole

FLOATS = ("f32", "f64", "bf16", "f16")
SHAPES = ((), (1,), (7,), (300, 70), (5, 1, 33), (0, 3))


def same_bits(graph: Graph, data: dict[str, Any]) -> dict[str, Any]:
    """The results, which are alike on both devices and for 1, 2 and 5 threads."""
    wanted = launched(ReferenceDevice(), graph, data, "f32", 1)
    for threads in (1, 2, 5):
        found = launched(CpuDevice(), graph, data, "f32", threads)
        for name, array in wanted.items():
            assert found[name].dtype == array.dtype
            assert found[name].tobytes() == array.tobytes(), (name, threads)
    return wanted


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_random_operation_draws_the_references_bits(shape: tuple[int, ...]) -> None:
    b = Builder(OPERATIONS)
    step = b.input("step", "scalar", "i32", ())
    at: dict[str, Any] = {"site": "gpt/dropout#1", "domain": "train", "seed": 3, "shape": shape}
    results = {
        "bits": b("random-bits", step, **at),
        "bernoulli": b("random-bernoulli", step, p=0.3, **at),
    }
    for dtype in FLOATS:
        results[f"uniform {dtype}"] = b("random-uniform", step, dtype=dtype, **at)
        results[f"normal {dtype}"] = b("random-normal", step, dtype=dtype, **at)
    for axis in range(len(shape)):
        rows: dict[str, Any] = {"batch-axis": axis, "row-offset": 1000, "iteration": 2}
        results[f"normal by {axis}"] = b("random-normal", step, dtype="f32", **at, **rows)
    assert {v.node.operation for v in results.values()} == {
        name for name, operation in OPERATIONS.items() if operation.random
    }
    b.graph.results = dict(results)
    found = same_bits(b.graph, {})
    assert all(np.isfinite(found[f"normal {d}"].astype("f8")).all() for d in FLOATS)


FORMS = {
    "random-uniform": "(random-uniform nil :like image :low -2 :high 3)",
    "random-normal": "(random-normal nil :like image :mean 1 :std 2)",
    "random-bernoulli": "(random-bernoulli nil 0.25 :like image)",
    "random-int": "(random-int '(8 5) 3 17 :batch 0)",
    "random-permutation": "(random-permutation 17)",
    "random-categorical": "(random-categorical image)",
    "dropout": "(dropout image 0.25)",
    "shuffle": "(shuffle (transpose image))",
}
NEAR = {
    "random-truncated-normal": "(random-truncated-normal nil :like image)",
    "random-gumbel": "(random-gumbel nil :like image)",
    "random-exponential": "(random-exponential nil :like image)",
}
"""By functions of a device's own after the draw, such as a logarithm: alike but for rounding."""


def drawn(form: str) -> Graph:
    """The graph of one form of an objective: its tensor is the result."""
    text = f'(progn (metric "it" (sum (cast {form} :f32))) (mean image))'
    graph = traced(whole(objective=f"(defun objective (&key image label) {text})")).graph
    value = next(v for name, v in graph.results.items() if name.startswith("metric:it:"))
    while value.node.operation != "reduce-sum":
        value = value.node.operands[0]
    graph.results = {"r": Value(value.node.operands[0].node, value.node.operands[0].result)}
    return graph


def given(graph: Graph) -> dict[str, Any]:
    return inputs_of(graph, 0)


def there(forms: dict[str, str]) -> list[str]:
    """Names of the builtins that do not answer E-UNSUPPORTED."""
    return [name for name in forms if "Not there yet" not in str(BUILTINS[name.upper()].doc)]


@pytest.mark.parametrize("name", there(FORMS))
def test_every_random_builtin_draws_the_references_bits(name: str) -> None:
    graph = drawn(FORMS[name])
    assert any(OPERATIONS[n.operation].random for n in graph.nodes)
    found = same_bits(graph, given(graph))["r"]
    assert len(np.unique(found)) > 1


@pytest.mark.parametrize("name", there(NEAR) or [pytest.param("", marks=pytest.mark.skip)])
def test_builtins_made_of_random_numbers_are_near_the_references(name: str) -> None:
    graph = drawn(NEAR[name])
    wanted = launched(ReferenceDevice(), graph, given(graph), "f32", 1)["r"]
    found = launched(CpuDevice(), graph, given(graph), "f32", 2)["r"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_no_random_builtin_is_left_out() -> None:
    names = {str(name).lower() for name in BUILTINS}
    drawing = {n for n in names if n.startswith("random-") and n != "random-state-p"}
    assert drawing - FORMS.keys() - NEAR.keys() == set()


def test_normal_numbers_are_normal_to_the_ends_of_their_words() -> None:
    from sexpgpu_core.ir.box_muller import normal
    from sexpgpu_core.ir.ops.reference.random import _Arrays

    chance = np.random.default_rng(0)
    first, second = chance.integers(0, 2**32, (2, 200_000), dtype=np.uint32)
    first[:4] = [0, 255, 256, 2**32 - 1]
    u, v = ((first >> 8).astype("f8") + 1) * 2.0**-24, (second >> 8) * 2.0**-24
    for odd, side in ((False, np.cos), (True, np.sin)):
        found = normal(_Arrays(), first, second, np.array(odd))
        exact = np.sqrt(-2 * np.log(u)) * side(2 * np.pi * v)
        assert np.abs(found - exact).max() < 2e-6
    assert abs(found.std() - 1) < 5e-3


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rounding_at_random_has_the_references_bits(shape: tuple[int, ...]) -> None:
    b = Builder(OPERATIONS)
    step = b.input("step", "scalar", "i32", ())
    x = b.input("x", "batch", "f32", shape)
    drawn = b("random-bits", step, site="w/m/kept", domain="train", seed=1, shape=shape)
    b.graph.results = {"kept": rounded_by(b, x, drawn)}
    values = np.random.default_rng(1).normal(size=shape).astype("f4")
    same_bits(b.graph, {"step": np.int32(3), "x": values})


def test_what_is_rounded_at_random_has_the_mean_of_what_it_was() -> None:
    values = np.array([1.0, 1.001, 1.004, -3.3, 2.0**-130, 0.0, 1e30], "f4")
    x = np.repeat(values[:, None], 4096, 1)
    b = Builder(OPERATIONS)
    drawn = b.input("drawn", "batch", "u32", x.shape)
    given = b.input("x", "batch", "f32", x.shape)
    b.graph.results = {"kept": rounded_by(b, given, drawn)}
    bits = np.random.default_rng(2).integers(0, 1 << 32, x.shape, "u4")
    kept = launched(ReferenceDevice(), b.graph, {"drawn": bits, "x": x}, "f32", 1)["kept"]
    mean = kept.astype("f8").mean(1)
    # half of a bf16's spacing over the root of how many: 2^-8 / 2 / 64, and five of these
    np.testing.assert_allclose(mean, values, rtol=5 * 2**-15)
    assert set(kept[0].astype("f4")) == {1.0}
    assert len(set(kept[1].astype("f4"))) == 2


def test_infinities_and_nan_are_kept_as_they_are() -> None:
    x = np.array([np.inf, -np.inf, np.nan, 3.0], "f4")
    x[2:3].view("u4")[0] = 0x7FFFFFFF
    b = Builder(OPERATIONS)
    drawn = b.input("drawn", "batch", "u32", x.shape)
    b.graph.results = {"kept": rounded_by(b, b.input("x", "batch", "f32", x.shape), drawn)}
    data = {"drawn": np.full(4, 0xFFFFFFFF, "u4"), "x": x}
    for device in (ReferenceDevice(), CpuDevice()):
        kept = launched(device, b.graph, data, "f32", 1)["kept"].astype("f4")
        np.testing.assert_array_equal(kept, x)
