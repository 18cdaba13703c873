"""Attention by kernels of ours, both passes, is the expansion's: any depth, masks, grouped heads,
operands that lie between others; every byte watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, launched, launches, normal
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_cuda.providers import VARIABLE

ALLOWED = {"f64": 1e-12, "f32": 3e-5, "bf16": 3e-2, "f16": 4e-3}


@pytest.fixture(autouse=True, scope="module")
def no_libraries() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "none")
        yield


def passes(**at: Any) -> Any:
    def make(b: Builder, q: Value, k: Value, v: Value, g: Value) -> dict[str, Value]:
        out, kept = b.several("attention-forward", q, k, v, **at)
        back = b.several("attention-backward", g, q, k, v, out, kept, **at)
        return {"out": out, "kept": kept, **dict(zip(("dq", "dk", "dv"), back))}

    return make


@st.composite
def attentions(draw: st.DrawFn) -> dict[str, Any]:
    causal, few = draw(st.booleans()), draw(st.integers(1, 2))
    heads, places = few * draw(st.integers(1, 3)), draw(st.integers(1, 9))
    depths = st.sampled_from((1, 5, 8, 31, 33, 64, 72))
    deep, wide = draw(depths), draw(depths)
    keys = places if causal else draw(st.integers(1, 9))
    at: dict[str, Any] = {"causal": True} if causal else {}
    if keys == places and draw(st.booleans()):
        at["window"] = draw(st.integers(1, places))
    if draw(st.booleans()):
        at["scale"] = 0.3
    shapes = {"q": (2, places, heads, deep), "k": (2, keys, few, deep), "v": (2, keys, few, wide)}
    shapes["g"] = (2, places, heads, wide)
    return {"at": at, "shapes": shapes, "dtype": draw(st.sampled_from(tuple(ALLOWED)))}


@settings(max_examples=12, deadline=None)
@given(attentions())
def test_any_attention_is_the_expansion_s(case: dict[str, Any]) -> None:
    """Beside numbers of about 1: a query with one key has a cotangent of rounding alone."""
    dtype = case["dtype"]
    inputs = {n: normal(s, dtype, i) for i, (n, s) in enumerate(case["shapes"].items())}
    graph = graph_of(passes(**case["at"]), **inputs)
    found, allowed = launched(graph, inputs).results, ALLOWED[dtype]
    for name, value in run(graph, inputs, OPERATIONS).items():
        a, b = found[name].astype("f8"), value.astype("f8")
        scale = max(float(np.abs(b).max()), 1.0)
        np.testing.assert_allclose(a, b, rtol=allowed, atol=allowed * scale)


def test_it_is_three_launches_and_no_copy() -> None:
    """Queries, keys and values are read where a product wrote them, side by side."""

    def make(b: Builder, x: Value, g: Value) -> dict[str, Value]:
        whole = b("reshape", b("negate", x), shape=(2, 6, 3, 2, 8))
        q, k, v = (
            b("reshape", b("slice", whole, starts=(0, 0, i, 0, 0), stops=(2, 6, i + 1, 2, 8),
                           steps=(1,) * 5), shape=(2, 6, 2, 8))
            for i in range(3)
        )  # fmt: skip
        return passes(causal=True)(b, q, k, v, g)

    inputs = {"x": normal((2, 6, 48)), "g": normal((2, 6, 2, 8), seed=1)}
    names = [r.unit.name[0] for r in launches(graph_of(make, **inputs))]
    assert names.count("w") == 3
    check(make, 3e-5, **inputs)


def test_rows_have_the_same_bits_whatever_else_is_in_the_batch() -> None:
    inputs = {n: normal((3, 7, 2, 8), "bf16", i) for i, n in enumerate("qkvg")}
    found = launched(graph_of(passes(causal=True), **inputs), inputs).results
    first = {n: v[1:2].copy() for n, v in inputs.items()}
    alone = launched(graph_of(passes(causal=True), **first), first).results
    for name, value in alone.items():
        np.testing.assert_array_equal(value[0].view(f"u{value.itemsize}"),
                                      found[name][1].view(f"u{value.itemsize}"))  # fmt: skip


def test_great_scores_do_not_overflow() -> None:
    def make(b: Builder, q: Value, k: Value, v: Value) -> dict[str, Value]:
        return dict(zip(("out", "kept"), b.several("attention-forward", q, k, v)))

    found = check(
        make, 1e-4, **{n: 30 * normal((1, 5, 1, 8), "f32", i) for i, n in enumerate("qkv")}
    )
    assert all(np.isfinite(v).all() for v in found.values())
