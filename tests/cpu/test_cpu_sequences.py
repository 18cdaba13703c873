"""argmax, running sums, sorting and searching against the references."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_programs import array, check
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir.types import numpy_dtype

RNG = np.random.default_rng(0)


def with_nan(shape: tuple[int, ...]) -> np.ndarray:
    x = array(RNG, shape)
    x.reshape(-1)[:: max(1, x.size // 3)] = np.nan
    return x


@pytest.mark.parametrize("operation", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_extrema(operation: str, axis: int) -> None:
    check(operation, [array(RNG, (4, 5, 6))], axis=axis, keep=False)
    check(operation, [with_nan((4, 5, 6))], axis=axis, keep=True)
    check(operation, [array(RNG, (4, 5, 6), "i32")], axis=axis, keep=False)


@pytest.mark.parametrize("operation", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize("reverse", [False, True])
def test_running(operation: str, reverse: bool) -> None:
    check(operation, [array(RNG, (4, 5, 6))], axis=1, reverse=reverse)
    check(operation, [array(RNG, (4, 5), "i32")], axis=0, reverse=reverse)
    if operation in ("cummax", "cummin"):
        check(operation, [with_nan((4, 9))], axis=1, reverse=reverse)


def test_running_sums_may_leave_their_own_element_out() -> None:
    check("cumsum", [array(RNG, (3, 7))], axis=1, exclusive=True)
    check("cumprod", [array(RNG, (3, 7))], axis=1, exclusive=True, reverse=True)


def test_a_running_sum_of_bf16_is_rounded_at_the_end() -> None:
    check("cumsum", [array(RNG, (3, 50), "bf16")], 1e-2, axis=1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=70), st.booleans())
def test_sorting_is_stable(values: list[int], descending: bool) -> None:
    x = np.array(values, "i4").reshape(1, -1)
    check("argsort", [x], axis=1, descending=descending)
    check("argsort", [x.astype("f4").T], axis=0, descending=descending)


@pytest.mark.parametrize("descending", [False, True])
def test_nan_is_sorted_last(descending: bool) -> None:
    check("argsort", [with_nan((3, 8))], axis=1, descending=descending)


def test_top_k() -> None:
    check("top-k", [with_nan((4, 9))], axis=1, k=3)
    check("top-k", [array(RNG, (4, 9, 2))], axis=1, k=4, smallest=True)
    check("top-k", [array(RNG, (9,), "bf16")], 1e-6, axis=0, k=9)


@pytest.mark.parametrize("right", [False, True])
def test_searching(right: bool) -> None:
    edges = np.sort(RNG.integers(0, 20, (9,))).astype("f4")
    check("searchsorted", [edges, RNG.integers(0, 20, (4, 5)).astype("f4")], right=right)
    rows = np.sort(RNG.integers(0, 20, (4, 9)), axis=1).astype("i4")
    check("searchsorted", [rows, RNG.integers(0, 20, (4, 5)).astype("i4")], right=right)


@pytest.mark.parametrize("dtype", ["u64", "u32", "u16", "i64"])
@pytest.mark.parametrize("operation", ["argsort", "top-k", "argmax", "argmin", "cummax", "cummin"])
def test_integers_are_ordered_to_the_end_of_their_range(operation: str, dtype: str) -> None:
    bits = RNG.integers(0, 2**64, (4, 9), dtype=np.uint64)
    more = {"k": 3} if operation == "top-k" else {}
    check(operation, [bits.astype(numpy_dtype(dtype))], axis=1, **more)


def test_searching_among_large_integers() -> None:
    x = RNG.integers(0, 2**64, (4, 9), dtype=np.uint64)
    check("searchsorted", [np.sort(x[0]), x])
