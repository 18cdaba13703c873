"""Products and convolutions by a kernel of ours, where no library is: any shape, stride and end is
the reference's, on the emulated device with every byte watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cuda_programs import check, ended, graph_of, integers, launched, launches, normal
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.ops.convolution import window_count
from sexpgpu_cuda.providers import VARIABLE
from sexpgpu_cuda.tiles import THREADS, TILES

FLOATS = ("f32", "bf16", "f16")


@pytest.fixture(autouse=True, scope="module")
def no_libraries() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "none")
        yield


@st.composite
def products(draw: st.DrawFn) -> dict[str, Any]:
    """Odd sizes, around those of a tile too; batches that are broadcast; turned operands."""
    sizes = st.one_of(st.integers(1, 9), st.sampled_from((16, 31, 33, 64, 65)))
    m, n, k = draw(sizes), draw(sizes), draw(sizes)
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))
    turns = draw(st.booleans()), draw(st.booleans())
    shapes = []
    for turned, (rows, columns) in zip(turns, ((m, k), (k, n))):
        lead = draw(st.integers(0, len(batch)))
        own = tuple(draw(st.sampled_from((1, size))) for size in batch[lead:])
        shapes.append((*own, columns, rows) if turned else (*own, rows, columns))
    flags = {f"transpose-{w}": t or None for w, t in zip("xy", turns)}
    return {"shapes": shapes, "flags": flags, "dtype": draw(st.sampled_from(FLOATS))}


@settings(max_examples=15, deadline=None)
@given(products())
def test_any_product_is_the_reference_s(case: dict[str, Any]) -> None:
    x, y = (normal(s, case["dtype"], i) for i, s in enumerate(case["shapes"]))
    check(lambda b, x, y: b("matmul", x, y, **case["flags"]), x=x, y=y)


@pytest.mark.parametrize("dtype", ["f64", "i32", "i64", "u8"])
@pytest.mark.parametrize("turns", [(False, False), (True, True)], ids=str)
def test_f64_and_integers_are_multiplied_by_the_same_kernel(turns: Any, dtype: str) -> None:
    def given(shape: tuple[int, ...], seed: int) -> Any:
        return normal(shape, dtype, seed) if dtype == "f64" else integers(9, shape, dtype, seed)

    flags = {f"transpose-{w}": t or None for w, t in zip("xy", turns)}
    x = given((2, 1, 4, 3) if turns[0] else (2, 1, 3, 4), 0)
    y = given((5, 6, 4) if turns[1] else (5, 4, 6), 1)
    check(lambda b, x, y: b("matmul", x, y, **flags), x=x, y=y)


def test_operands_in_another_order_are_multiplied_where_they_lie() -> None:
    def make(b: Builder, x: Value, y: Value) -> Value:
        heads = b("permute", b("reshape", x, shape=(2, 9, 3, 8)), axes=(0, 2, 1, 3))
        other = b("permute", b("reshape", y, shape=(2, 9, 3, 8)), axes=(0, 2, 1, 3))
        scores = b("matmul", heads, other, **{"transpose-y": True})
        mixed = b("matmul", scores, other)
        return b("reshape", b("permute", mixed, axes=(0, 2, 1, 3)), shape=(2, 9, 24))

    inputs = {"x": normal((2, 9, 24)), "y": normal((2, 9, 24), seed=1)}
    assert len(launches(graph_of(make, **inputs))) == 2
    check(make, 1e-5, **inputs)


def test_a_sum_over_nothing_is_zero_and_a_result_without_elements_is_none() -> None:
    check(lambda b, x, y: b("matmul", x, y), x=normal((3, 0)), y=normal((0, 4)))
    check(lambda b, x, y: b("matmul", x, y), x=normal((0, 3)), y=normal((3, 4)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_ends_of_products_are_their_expansions(dtype: str) -> None:
    make, inputs = ended(dtype)
    check(make, {"f32": 1e-5, "bf16": 8e-3, "f16": 1e-3}[dtype], **inputs)


def test_the_same_bits_whatever_stands_beside_it() -> None:
    """Neither the grid nor the tile's other rows are in an element's sum."""
    x, y = normal((70, 33)), normal((33, 81), seed=1)

    def found(x: Any, y: Any) -> Any:
        graph = graph_of(lambda b, x, y: b("matmul", x, y), x=x, y=y)
        return launched(graph, {"x": x, "y": y}).results["r"]

    np.testing.assert_array_equal(found(x, y)[3:9, 5:8], found(x[3:9], y[:, 5:8].copy()))


@st.composite
def convolutions(draw: st.DrawFn) -> dict[str, Any]:
    axes = draw(st.integers(1, 3))
    small, most = st.integers(1, 2), 9 if axes == 1 else 5
    window = tuple(draw(st.lists(st.integers(1, 3), min_size=axes, max_size=axes)))
    step, spread = (tuple(draw(st.lists(small, min_size=axes, max_size=axes))) for _ in range(2))
    padding = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in window)
    sizes = [draw(st.integers(d * (k - 1) + 1, most + 1)) for k, d in zip(window, spread)]
    groups, taken = draw(st.sampled_from((1, 2, 3))), draw(st.sampled_from((1, 3, 4, 8)))
    made = groups * draw(st.sampled_from((1, 2, 8)))
    at = {"strides": step, "dilations": spread, "padding": padding, "groups": groups}
    outs = map(window_count, sizes, window, step, spread, padding)
    return {
        "at": at, "x": (2, *sizes, groups * taken), "w": (*window, taken, made),
        "g": (2, *outs, made), "dtype": draw(st.sampled_from(FLOATS)),
    }  # fmt: skip


@settings(max_examples=8, deadline=None)
@given(convolutions())
def test_any_convolution_and_both_gradients_are_the_reference_s(case: dict[str, Any]) -> None:
    at = case["at"]
    x, w, g = (normal(case[n], case["dtype"], i) for i, n in enumerate("xwg"))

    def make(b: Builder, x: Value, w: Value, g: Value) -> dict[str, Value]:
        input_ = b("conv-input-gradient", g, w, **at, **{"input-shape": x.shape})
        weight = b("conv-weight-gradient", x, g, **at, **{"kernel-shape": w.shape})
        return {"out": b("conv", x, w, **at), "input": input_, "weight": weight}

    check(make, 1e-5 if case["dtype"] == "f32" else 0.0, x=x, w=w, g=g)


@pytest.mark.parametrize(("width", "lanes"), [(2, 8), (4, 4), (8, 2)])
def test_a_thread_brings_sixteen_bytes_of_each_operand(width: int, lanes: int) -> None:
    tile = TILES[width]
    assert width * lanes == 16
    assert tile.rows * tile.inner == tile.columns * tile.inner == lanes * THREADS
    assert tile.rows * tile.columns == tile.high * tile.wide * THREADS


def test_full_tiles_are_said_to_be_read_sixteen_bytes_at_a_time() -> None:
    def vectors(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[str, ...]:
        inputs = {"x": normal(x, "bf16"), "y": normal(y, "bf16")}
        (found,) = launches(graph_of(lambda b, x, y: b("matmul", x, y), **inputs))
        return found.unit.vectors

    assert vectors((64, 64), (64, 64)) == ("LDG", "LDG")
    assert vectors((64, 60), (60, 64)) == ("LDG",)
    assert vectors((64, 60), (60, 63)) == ()
