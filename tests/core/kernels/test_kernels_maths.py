"""Vector maths against f64: relative error, and what comes of inf, NaN, zero and denormals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from jit import run_call

from sexpgpu_core.kernels import maths
from sexpgpu_core.kernels.kernel import Access, Expr, Kernel, KernelCall, Operand, Store
from sexpgpu_core.kernels.target import Target

TINY = float(np.float32(1e-40))
INF, NAN = math.inf, math.nan


def kernel_of(op: str, dtype: str, size: int, arity: int = 1) -> KernelCall:
    operands = (*(Operand(dtype) for _ in range(arity)), Operand(dtype, True))
    loads = tuple(Expr("load", (), dtype, access=i) for i in range(arity))
    kernel = Kernel(
        size,
        False,
        operands,
        tuple(Access(i, 1) for i in range(arity + 1)),
        (),
        (*loads, Expr(op, tuple(range(arity)), dtype)),
        (Store(arity, arity),),
    )
    return KernelCall(kernel, tuple(range(arity + 1)), (1, 1, 1), ((0,) * 5,) * (arity + 1))


def apply(op: str, *x: np.ndarray, width: int | None = None) -> np.ndarray:
    out = np.empty_like(x[0])
    dtype = {"float32": "f32", "float64": "f64"}[x[0].dtype.name]
    arrays = [np.ascontiguousarray(a) for a in x]
    run_call(kernel_of(op, dtype, x[0].size, len(x)), [*arrays, out], width=width)
    return out


def spread(low: float, high: float, count: int = 20_001) -> np.ndarray:
    return np.linspace(low, high, count).astype(np.float32)


def across(low: float, high: float, count: int = 20_001) -> np.ndarray:
    """From low to high in even steps of the logarithm."""
    return np.exp(np.linspace(math.log(low), math.log(high), count)).astype(np.float32)


def elementwise(function):  # type: ignore[no-untyped-def]
    return lambda x: np.array([function(float(v)) for v in x.ravel()]).reshape(x.shape)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return np.where(
        x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
    )


ROWS = {
    "exp": (np.exp, spread(-87, 88), 2e-7),
    "exp2": (np.exp2, spread(-126, 127.9), 2e-7),
    "expm1": (
        np.expm1,
        np.concatenate([spread(-20, 80), across(1e-30, 1), -across(1e-30, 1)]),
        4e-7,
    ),
    "log": (np.log, np.concatenate([across(1e-38, 3e38), spread(0.9, 1.1)]), 2e-7),
    "log2": (np.log2, np.concatenate([across(1e-38, 3e38), spread(0.9, 1.1)]), 4e-7),
    "log1p": (np.log1p, np.concatenate([across(1e-30, 3e38), spread(-0.99, 2)]), 4e-7),
    "tanh": (np.tanh, np.concatenate([spread(-12, 12), across(1e-30, 1)]), 4e-7),
    "erf": (elementwise(math.erf), np.concatenate([spread(-5, 5), across(1e-30, 1)]), 5e-7),
    "erfc": (elementwise(math.erfc), spread(-5, 9), 4e-7),
    "sigmoid": (sigmoid, spread(-80, 80), 3e-7),
    "rsqrt": (lambda x: 1 / np.sqrt(x), across(1e-37, 3e38), 2e-7),
    "atan": (np.arctan, spread(-50, 50), 2e-7),
    "sinh": (np.sinh, spread(-20, 20), 2e-7),
}


@pytest.mark.parametrize("op", sorted(ROWS))
@pytest.mark.parametrize("width", [4, 8, 16])
def test_relative_error_is_a_few_units_in_the_last_place(op: str, width: int) -> None:
    reference, x, bound = ROWS[op]
    want = reference(x.astype(np.float64))
    error = np.abs(apply(op, x, width=width) - want) / np.maximum(np.abs(want), 1e-37)
    assert error.max() <= bound, (op, x[error.argmax()], error.max())


MOST_ULPS = {
    "exp": (np.exp, 1e-4, 85.0, 1.1),
    "expm1": (np.expm1, 1e-4, 85.0, 1.6),
    "log": (np.log, 1e-30, 1e30, 1.0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1e-30, 1e30, 1.6),
    "sigmoid": (sigmoid, 1e-4, 80.0, 2.5),
    "sin": (np.sin, 1e-4, 1e4, 1.7),
    "cos": (np.cos, 1e-4, 1e4, 1.7),
    "tanh": (np.tanh, 1e-4, 9.5, 4.8),
}
"""Function, from, to, and the bound that docs/numerics.md tells."""


@pytest.mark.parametrize("op", sorted(MOST_ULPS))
def test_errors_in_units_of_the_last_place_are_what_the_page_says(op: str) -> None:
    reference, low, high, bound = MOST_ULPS[op]
    ends = np.array([low, high], np.float32).view(np.int32)
    x = np.arange(ends[0], ends[1], 1009, np.int32).view(np.float32)  # of all floats between
    x = x if op in ("log", "rsqrt") else np.concatenate([x, -x])
    want = reference(x.astype(np.float64))
    ulp = np.spacing(np.abs(want).astype(np.float32)).astype(np.float64)
    error = np.abs(apply(op, x) - want) / ulp
    assert error.max() <= bound, (op, x[error.argmax()], error.max())


@pytest.mark.parametrize(("op", "reference"), [("sin", np.sin), ("cos", np.cos)])
def test_sine_and_cosine_are_right_near_zeros_and_for_huge_arguments(op, reference) -> None:  # type: ignore[no-untyped-def]
    x = np.concatenate([spread(-100, 100), across(1e-20, 3e38, 3001), spread(-29000, 29000)])
    want = reference(x.astype(np.float64))
    error = np.abs(apply(op, x) - want)
    assert (error <= 1.3e-7 + 2e-7 * np.abs(want)).all(), x[error.argmax()]


SPECIAL = {
    "exp": [(INF, INF), (-INF, 0), (NAN, NAN), (0, 1), (89, INF), (-200, 0), (-100, 3.783506e-44)],
    "exp2": [(INF, INF), (-INF, 0), (NAN, NAN), (0, 1), (128, INF), (-149, 1e-45), (-3, 0.125)],
    "expm1": [(INF, INF), (-INF, -1), (NAN, NAN), (0, 0), (-0.0, -0.0), (TINY, TINY)],
    "log": [(INF, INF), (0, -INF), (-0.0, -INF), (-1, NAN), (NAN, NAN), (1, 0), (TINY, -92.1034)],
    "log2": [(INF, INF), (0, -INF), (-1, NAN), (NAN, NAN), (1, 0), (8, 3), (2**-149, -149)],
    "log1p": [(INF, INF), (-1, -INF), (-2, NAN), (NAN, NAN), (0, 0), (-0.0, -0.0), (TINY, TINY)],
    "tanh": [(INF, 1), (-INF, -1), (NAN, NAN), (0, 0), (-0.0, -0.0), (TINY, TINY), (50, 1)],
    "erf": [(INF, 1), (-INF, -1), (NAN, NAN), (0, 0), (-0.0, -0.0), (5, 1)],
    "erfc": [(INF, 0), (-INF, 2), (NAN, NAN), (0, 1), (20, 0)],
    "sigmoid": [(INF, 1), (-INF, 0), (NAN, NAN), (0, 0.5), (-100, 3.783506e-44)],
    "sin": [(INF, NAN), (-INF, NAN), (NAN, NAN), (0, 0), (-0.0, -0.0), (TINY, TINY)],
    "cos": [(INF, NAN), (NAN, NAN), (0, 1), (TINY, 1)],
    "sqrt": [(INF, INF), (-1, NAN), (NAN, NAN), (0, 0), (-0.0, -0.0), (4, 2)],
    "rsqrt": [(INF, 0), (-1, NAN), (NAN, NAN), (0, INF), (4, 0.5)],
}


@pytest.mark.parametrize("op", sorted(SPECIAL))
def test_special_values_come_out_as_they_should(op: str) -> None:
    x, want = (np.array(side, np.float32) for side in zip(*SPECIAL[op]))
    got = apply(op, x)
    assert np.allclose(got, want, rtol=2e-6, atol=1e-45, equal_nan=True), (x, got, want)
    assert (np.signbit(got) == np.signbit(want))[(want == 0)].all(), (x, got)


def test_power_agrees_with_numpy_on_signs_zeros_and_infinities() -> None:
    values = np.array([0, -0.0, 1, -1, 2, -2, 0.5, 3, -3, INF, -INF, NAN, 1e30], np.float32)
    x, y = (a.ravel() for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    assert np.allclose(apply("power", x, y), want, rtol=3e-7, equal_nan=True)


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf", "sigmoid", "rsqrt", "expm1"])
def test_f64_is_exact_to_the_library(op: str) -> None:
    reference = ROWS[op][0]
    x = np.linspace(0.01, 5, 301)
    assert np.allclose(apply(op, x), reference(x), rtol=1e-14)


def test_every_width_gives_the_same_bits() -> None:
    x = spread(-30, 30, 1003)
    for op in sorted(set(maths.F32) - {"power", "atan2"}):
        bits = [apply(op, x, width=w).tobytes() for w in (4, 8, 16)]
        assert bits[0] == bits[1] == bits[2], op


def test_no_text_holds_a_fast_math_flag() -> None:
    t = Target(8)
    for op in maths.F32:
        arity = 2 if op in ("power", "atan2") else 1
        maths.F32[op](t, *(t.constant("f32", 0.5, 8) for _ in range(arity)))
    words = {word for line in t.lines for word in line.split()}
    assert not words & {"fast", "contract", "reassoc", "nnan", "ninf", "nsz", "arcp", "afn"}
