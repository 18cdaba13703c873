"""Pooling by its PTX: what the reference gives, ties and NaN too, one to three axes, any stride."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, integers, launched, launches, normal, opened, planned
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.pooling import pooled_shape
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_cuda.work import LibraryCall

GREATEST = ("max-pool", "max-pool-gradient")
At = dict[str, Any]


@st.composite
def pools(draw: st.DrawFn) -> tuple[tuple[int, ...], At]:
    """A shape and windows that fit into it."""
    axes = draw(st.integers(1, 3))
    sizes, at = [], []
    for _ in range(axes):
        window, apart = draw(st.integers(1, 3)), draw(st.integers(1, 2))
        low, high = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        least = max(apart * (window - 1) + 1 - low - high, 1)
        sizes.append(draw(st.integers(least, least + 5)))
        at.append((window, draw(st.integers(1, 3)), apart, (low, high)))
    window, strides, apart, padding = zip(*at)
    named = {"sizes": window, "strides": strides, "dilations": apart, "padding": padding}
    return (draw(st.integers(1, 2)), *sizes, draw(st.integers(1, 3))), named


def tied(shape: tuple[int, ...], dtype: str) -> Any:
    """Few distinct values, many that padding has too, some NaN."""
    if dtype[0] in "iu":
        x = integers(4, shape, dtype)
        return np.where(x < 2, np.iinfo(x.dtype).min, x).astype(x.dtype)
    x = np.round(normal(shape))
    x = np.where(x <= 0, -np.inf, x)
    x.flat[:: max(x.size // 3, 1)] = np.nan
    return x.astype(numpy_dtype(dtype))


def greatest(at: At) -> Any:
    def make(b: Builder, x: Value, g: Value) -> dict[str, Value]:
        return {"pooled": b("max-pool", x, **at), "back": b("max-pool-gradient", x, g, **at)}

    return make


def mean(at: At, shape: tuple[int, ...]) -> Any:
    back = {**at, "input-shape": shape}

    def make(b: Builder, x: Value, g: Value) -> dict[str, Value]:
        return {"pooled": b("avg-pool", x, **at), "back": b("avg-pool-gradient", g, **back)}

    return make


def cotangent(shape: tuple[int, ...], at: At, dtype: str = "f32") -> Any:
    return normal(pooled_shape(OPERATIONS["max-pool"], shape, at), dtype, seed=1)


@given(pools(), st.sampled_from(["f32", "bf16", "f16", "f64"]))
@settings(max_examples=25, deadline=None)
def test_the_first_greatest_of_a_window_is_taken_and_given_to(
    found: tuple[tuple[int, ...], At], dtype: str
) -> None:
    shape, at = found
    check(greatest(at), 0.02 if dtype == "bf16" else 0.0, x=tied(shape, dtype),
          g=cotangent(shape, at, dtype))  # fmt: skip


@given(pools(), st.sampled_from(["f32", "bf16", "f16", "f64"]), st.sampled_from([None, True]))
@settings(max_examples=25, deadline=None)
def test_a_mean_counts_what_is_inside_or_padding_too(
    found: tuple[tuple[int, ...], At], dtype: str, counted: bool | None
) -> None:
    shape, at = found
    at = {k: v for k, v in at.items() if k != "dilations"}
    at["padding"] = tuple((min(a, w - 1), min(b, w - 1)) for (a, b), w in
                          zip(at["padding"], at["sizes"]))  # fmt: skip
    shape = (shape[0], *(max(n, w) for n, w in zip(shape[1:-1], at["sizes"])), shape[-1])
    more = {"count-padding": counted} if counted else {}
    check(mean({**at, **more}, shape), 0.02 if dtype == "bf16" else 0.0, x=normal(shape, dtype),
          g=cotangent(shape, at, dtype))  # fmt: skip


OVERLAPPED = {"sizes": (3, 3), "strides": (2, 2), "padding": ((1, 1), (1, 1))}


@pytest.mark.parametrize("dtype", ["i32", "u8", "i64"])
def test_integers_have_greatest_ones_too(dtype: str) -> None:
    x = tied((2, 7, 6, 3), dtype)
    check(lambda b, x: b("max-pool", x, **OVERLAPPED), x=x)


def test_bits_are_the_reference_s_in_f32() -> None:
    x, g = normal((2, 9, 7, 4)), cotangent((2, 9, 7, 4), OVERLAPPED)
    graph = graph_of(greatest(OVERLAPPED), x=x, g=g)
    wanted, found = run(graph, {"x": x, "g": g}, OPERATIONS), launched(graph, {"x": x, "g": g})
    for name, value in wanted.items():
        assert found.results[name].tobytes() == value.tobytes()


def test_padding_takes_nothing_of_a_window_of_minus_infinity() -> None:
    x, g = np.full((1, 2, 1), -np.inf, "f4"), np.array([[[3.0], [5.0]]], "f4")
    at = {"sizes": (2,), "strides": (1,), "padding": ((1, 0),)}
    inputs = {"x": x, "g": g}
    outcome = launched(graph_of(greatest(at), **inputs), inputs)
    np.testing.assert_array_equal(outcome.results["back"].ravel(), [8, 0])


def test_nothing_of_it_is_a_library_s() -> None:
    x, g = normal((2, 9, 7, 4)), cotangent((2, 9, 7, 4), OVERLAPPED)
    for make in (greatest(OVERLAPPED), mean(OVERLAPPED, x.shape)):
        graph = graph_of(make, x=x, g=g)
        assert len(launches(graph)) == 2
        program = opened(planned(graph)).program("step")
        assert not [r for r in program.records if isinstance(r, LibraryCall)]
