"""Attention in 16 bits: values and gradients are the reference's, and near those of f64 (45.10)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder, Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.rounding import rounded
from sexpgpu_cpu.device import CpuDevice
from sexpgpu_cpu.reference import ReferenceDevice

sys.path.insert(0, str(Path(__file__).parents[1] / "graphs"))
from both_devices import launched

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "grouped heads": {"few": 2},
    "causal of grouped heads": {"few": 1, "causal": True},
    "a window": {"causal": True, "window": 3},
    "capped": {"soft-cap": 2.0},
    "more keys": {"keys": 13},
    "masked": {"extras": ("mask",)},
    "biased and dropped": {"extras": ("bias", "keep"), "rate": 0.25},
}
KEPT = {k: v for k, v in KINDS.items() if "extras" not in v and "soft-cap" not in v}
"""What `attention-forward` and its gradient say too."""
NAMES = ["g", "k", "q", "r", "v"]
UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11}


def graph_of(operation: str, dtype: str = "f32", n: int = 9, depth: int = 8, **given: Any) -> Graph:
    """Attention and its gradients, cotangent `g`."""
    b = Builder(OPERATIONS)
    few, keys = given.pop("few", 4), given.pop("keys", n)
    shapes = {"q": (2, n, 4, depth), "k": (2, keys, few, depth), "v": (2, keys, few, depth)}
    made = {name: b.input(name, "batch", dtype, shape) for name, shape in shapes.items()}
    g = b.input("g", "batch", dtype, shapes["q"])
    scores = (2, 4, n, keys)
    extras = [
        b.input(name, "batch", dtype if name == "bias" else "bool", scores)
        for name in given.get("extras", ())
    ]
    out = b.several(operation, *made.values(), *extras, **given)[0]
    wide = [x if x.dtype == dtype else b("cast", x, dtype=dtype) for x in (out, g)]
    total = b("reduce-sum", b("multiply", *wide), axes=(0, 1, 2, 3), keep=False)
    found = differentiate(b.graph, OPERATIONS, total, {**made, "g": g})
    b.graph.results = {"r": out, **{name: v for name, v in found.items() if v is not None}}
    return b.graph


def data_of(graph: Graph, policy: str) -> dict[str, Any]:
    """Normal floats that 16 bits hold; of a mask the first key always."""
    chance = np.random.default_rng(3)
    found: dict[str, Any] = {}
    for node in graph.inputs():
        dtype, shape = node.types[0]
        if dtype == "bool":
            found[node.get("name")] = chance.random(shape) < 0.7
            found[node.get("name")][..., 0] = True
        else:
            x = [rounded(float(v), policy) for v in chance.standard_normal(int(np.prod(shape)))]
            found[node.get("name")] = np.array(x, "f4").reshape(shape)
    return found


def both(graph: Graph, data: dict[str, Any], policy: str) -> list[dict[str, Any]]:
    return [launched(device(), graph, data, policy, 2) for device in (CpuDevice, ReferenceDevice)]


def exact(operation: str, data: dict[str, Any], given: dict[str, Any], **size: int) -> Any:
    """The same in f64."""
    wide = {n: x.astype("f8") if x.dtype.kind == "f" else x for n, x in data.items()}
    graph = graph_of(operation, "f64", **size, **given)
    return launched(ReferenceDevice(), graph, wide, "f32", 1)


def check(operation: str, given: dict[str, Any], policy: str, **size: int) -> None:
    """Devices add in f32 in orders of their own, so a sum that lies between two values of 16 bits
    may round to either: such values are rare and one place off. Were a value of the backward pass
    rounded on one device only, most would differ."""
    graph = graph_of(operation, **size, **given)
    data = data_of(graph, policy)
    ours, plain = both(graph, data, policy)
    wide = exact(operation, data, given, **size)
    assert sorted(plain) == NAMES
    for name, wanted in plain.items():
        apart = np.abs(ours[name] - wanted)
        place = UNIT[policy] * np.abs(wide[name]).max()
        assert (apart > 0).mean() < 0.02, name
        assert apart.max() <= place, name
        np.testing.assert_allclose(ours[name], wide[name], rtol=0, atol=4 * place, err_msg=name)


@pytest.mark.parametrize("policy", UNIT)
@pytest.mark.parametrize("kind", KINDS)
def test_attention_and_its_gradients_are_rounded_where_the_references_are(
    kind: str, policy: str
) -> None:
    check("attention", KINDS[kind], policy)


@pytest.mark.parametrize("policy", UNIT)
@pytest.mark.parametrize("kind", KEPT)
def test_the_two_calls_of_a_library_are_rounded_there_too(kind: str, policy: str) -> None:
    check("attention-forward", KEPT[kind], policy)


@pytest.mark.parametrize("policy", UNIT)
def test_longer_sums_are_no_further_off(policy: str) -> None:
    check("attention", {"few": 2, "causal": True}, policy, n=70, depth=32)


def test_attention_of_bf16_is_the_references_to_the_bit() -> None:
    """Sums in f32 seldom lie within their own error of a middle of two values of 8 bits."""
    for kind in ("plain", "causal", "grouped heads"):
        graph = graph_of("attention", **KINDS[kind])
        ours, plain = both(graph, data_of(graph, "bf16"), "bf16")
        for name, wanted in plain.items():
            np.testing.assert_array_equal(ours[name], wanted, err_msg=f"{kind}: {name}")
