"""Sorting, searching and running sums by their PTX: what the references give, ties and NaN too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, integers, launches, normal

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_cuda.sorting import MOST


def tied(shape: tuple[int, ...], dtype: str) -> Any:
    """Few distinct values, in floats zeros of both signs and a NaN."""
    if dtype[0] in "iu":
        return integers(5, shape, dtype)
    x = np.round(normal(shape)).astype(numpy_dtype(dtype))
    x.flat[0], x.flat[-1] = -0.0, np.nan
    return x


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "i32", "u8", "i64", "u64"])
@pytest.mark.parametrize("shape", [(5, 9), (3, 33, 4), (2, 1), (70, 4)], ids=str)
def test_equal_elements_keep_their_order_and_nan_stands_last(
    shape: tuple[int, ...], dtype: str
) -> None:
    def make(b: Builder, x: Value) -> dict[str, Value]:
        given = {"axis": 1, "k": min(shape[1], 3)}
        least = b.several("top-k", x, smallest=True, **given)
        greatest = b.several("top-k", x, **given)
        orders = {d: b("argsort", x, axis=1, descending=d) for d in (False, True)}
        sorts = {"up": orders[False], "down": orders[True]}
        return {**sorts, **{f"{i} least": v for i, v in enumerate(least)},
                **{f"{i} greatest": v for i, v in enumerate(greatest)}}  # fmt: skip

    check(make, x=tied(shape, dtype))


@pytest.mark.parametrize("size", [MOST, MOST + 1])
def test_a_row_is_sorted_in_a_block_while_it_fits(size: int) -> None:
    def make(b: Builder, x: Value) -> Value:
        return b("argsort", x, axis=1)

    x = normal((2, size))
    check(make, x=x)
    assert (len(launches(graph_of(make, x=x))) == 1) == (size == MOST)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "i32", "i64"])
@pytest.mark.parametrize("flags", [{}, {"reverse": True, "exclusive": True}], ids=str)
@pytest.mark.parametrize("size", [64, 300, 2_500])
def test_a_long_sequence_is_a_block_s(size: int, flags: dict[str, bool], dtype: str) -> None:
    def make(b: Builder, x: Value) -> dict[str, Value]:
        rest = {"reverse": flags.get("reverse", False)}
        return {"cumsum": b("cumsum", x, axis=1, **flags), "cummax": b("cummax", x, axis=1, **rest)}

    x = integers(9, (2, size, 3), dtype) if dtype[0] == "i" else normal((2, size, 3), dtype)
    check(make, 0.03 if dtype == "bf16" else 0.0, x=x)
    grids = [launch.grid for launch in launches(graph_of(make, x=x))]
    assert grids == [6, 6]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "i32"])
@pytest.mark.parametrize("flags", [{}, {"reverse": True}, {"exclusive": True}], ids=str)
def test_sums_run_along_an_axis(flags: dict[str, bool], dtype: str) -> None:
    def make(b: Builder, x: Value) -> dict[str, Value]:
        return {n: b(n, x, axis=1, **flags) for n in ("cumsum", "cumprod")}

    x = integers(3, (3, 17, 5), dtype) if dtype == "i32" else normal((3, 17, 5), dtype)
    check(make, x=x)


@pytest.mark.parametrize("reverse", [False, True])
def test_records_run_along_an_axis_and_nan_is_beyond_all(reverse: bool) -> None:
    def make(b: Builder, x: Value) -> dict[str, Value]:
        return {n: b(n, x, axis=1, reverse=reverse) for n in ("cummax", "cummin")}

    x = normal((4, 30))
    x[1, 5] = np.nan
    check(make, x=x)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("rows", [(), (3,)], ids=str)
@pytest.mark.parametrize("size", [0, 1, 13, 64])
def test_a_place_is_found_before_or_behind_equal_ones(
    size: int, rows: tuple[int, ...], right: bool
) -> None:
    edges = np.sort(np.round(normal((*rows, size)), 1), axis=-1)
    x = np.round(normal((3, 7), seed=2), 1)
    x[0, 0] = np.nan
    check(lambda b, e, x: b("searchsorted", e, x, right=right), e=edges, x=x)
