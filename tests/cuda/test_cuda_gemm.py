"""Products as cuBLASLt is asked for them, read back by its column-major rules in NumPy: whatever
the views, the result is NumPy's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from cuda_programs import check, graph_of, integers, launches
from host_driver import HostDriver
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.kernels.kernel import View
from sexpgpu_core.kernels.views import dense_strides
from sexpgpu_cuda import multiply, picked
from sexpgpu_cuda.gemm import Gemm, Matrix, gemm_of
from sexpgpu_cuda.multiply import Multiply
from sexpgpu_cuda.products import EPILOGUES
from sexpgpu_cuda.tuning import Choice, PickCache, Tuning

WIDTH = 8


class Column:
    """cuBLASLt's rules on an array of f64 at address 0."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.bias = self.auxiliary = 0
        self.timed: list[str] = []

    def version(self) -> int:
        return 130000

    def describe(self, gemm: Gemm) -> Column:
        return self

    def pointers(self, bias: int, auxiliary: int) -> None:
        self.bias, self.auxiliary = bias, auxiliary

    def choices(self, of: Any, most: int, limit: int) -> list[Choice]:
        return [Choice("00", 16), Choice("01", 32)]

    def run(self, of: Any, choice: Choice, gemm: Gemm, pointers: Sequence[int], *rest: int) -> None:
        self.timed.append(choice.algorithm)
        auxiliary = Matrix(gemm.d.rows, gemm.d.columns, gemm.auxiliary, 0)
        for i in range(gemm.batch):
            a, b, d = (self._matrix(at, m, i) for at, m in zip(pointers, (gemm.a, gemm.b, gemm.d)))
            sums = (a.T if gemm.a.turned else a) @ (b.T if gemm.b.turned else b)
            end = EPILOGUES[gemm.epilogue]
            if end is None:
                d[...] = sums
            elif self.bias:
                start = self.bias // WIDTH
                bias = self.memory[start : start + gemm.d.rows, None]
                found = end(sums, bias)
                d[...] = found[0]
                if len(found) > 1:
                    self._matrix(self.auxiliary, auxiliary, i)[...] = found[1]
            else:
                d[...] = end(sums, self._matrix(self.auxiliary, auxiliary, i))[0]

    def _matrix(self, address: int, of: Matrix, i: int) -> Any:
        start = address // WIDTH + i * of.stride
        assert of.leading >= of.rows
        return np.ndarray(
            (of.rows, of.columns), "f8", self.memory.data, start * WIDTH,
            (WIDTH, of.leading * WIDTH),
        )  # fmt: skip


def laid(memory: Any, at: int, shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """An array with its axes in another order in memory, and its view."""
    strides = [0] * len(shape)
    for axis, stride in zip(order, dense_strides(tuple(shape[a] for a in order))):
        strides[axis] = stride
    array = np.ndarray(shape, "f8", memory.data, at * WIDTH, tuple(s * WIDTH for s in strides))
    return array, View(0, "f64", shape, tuple(strides), at)


@st.composite
def products(draw: st.DrawFn) -> dict[str, Any]:
    sizes = st.integers(1, 4)
    m, n, k = draw(sizes), draw(sizes), draw(sizes)
    batch = tuple(draw(st.lists(sizes, max_size=3)))
    turns = draw(st.booleans()), draw(st.booleans())
    shapes = []
    for turned, (rows, columns) in zip(turns, ((m, k), (k, n))):
        lead = draw(st.integers(0, len(batch)))
        own = tuple(draw(st.sampled_from((1, size))) for size in batch[lead:])
        shapes.append((*own, columns, rows) if turned else (*own, rows, columns))
    full = np.broadcast_shapes(*(s[:-2] for s in shapes))
    orders = []
    for shape in (*shapes, (*full, m, n)):
        lead = list(range(len(shape) - 2))
        mixed = draw(st.permutations(range(len(shape) - 1)))  # the last axis stays innermost
        orders.append((*mixed, len(shape) - 1))
        if len(orders) < 3 and draw(st.booleans()):
            orders[-1] = (*lead, len(shape) - 1, len(shape) - 2)
    return {"turns": turns, "shapes": (*shapes, (*full, m, n)), "orders": orders}


@settings(max_examples=300, deadline=None)
@given(products(), st.randoms(use_true_random=False))
def test_any_views_are_multiplied_by_the_library_s_rules(case: Any, random: Any) -> None:
    memory = np.zeros(4096)
    places, at = [], 3
    for shape, order in zip(case["shapes"], case["orders"]):
        places.append(laid(memory, at, shape, order))
        at += int(np.prod(shape)) + 5
    (x, vx), (y, vy), (out, vo) = places
    for array in (x, y):
        array[...] = np.array([random.uniform(-1, 1) for _ in range(array.size)]).reshape(x.shape
            if array is x else y.shape)  # fmt: skip
    gemm = gemm_of("matmul", (vx, vy), (vo,), case["turns"])
    column = Column(memory)
    for offsets in gemm.calls:
        moved = [WIDTH * (v.offset + o) for v, o in zip((vx, vy, vo), offsets)]
        column.run(column, Choice("00", 0), gemm, (moved[1], moved[0], moved[2]))
    a, b = (np.swapaxes(v, -1, -2) if t else v for v, t in zip((x, y), case["turns"]))
    np.testing.assert_allclose(out, np.matmul(a, b), rtol=1e-12, atol=1e-12)


def test_rows_of_a_batch_are_one_product() -> None:
    views = [View(0, "bf16", s, dense_strides(s), 0) for s in ((4, 6, 8), (8, 16), (4, 6, 16))]
    gemm = gemm_of("matmul", views[:2], views[2:], (False, False))
    assert (gemm.batch, len(gemm.calls)) == (1, 1)
    assert (gemm.d.rows, gemm.d.columns, gemm.inner) == (16, 24, 8)


def test_heads_that_lie_between_rows_are_a_batch_a_sequence() -> None:
    shape, strides = (2, 3, 5, 4), (60, 4, 12, 1)  # (b n h d) seen as (b h n d)
    q = View(0, "bf16", shape, strides, 0)
    out = View(0, "bf16", (2, 3, 5, 5), dense_strides((2, 3, 5, 5)), 0)
    gemm = gemm_of("matmul", (q, q), (out,), (False, True))
    assert gemm.batch == 3
    assert gemm.calls == ((0, 0, 0), (60, 60, 75))


@pytest.mark.parametrize("dtype", ["i32", "i64", "u8"])
@pytest.mark.parametrize("turns", [(False, False), (True, False), (False, True)], ids=str)
def test_integers_are_multiplied_by_a_kernel_of_ours(turns: Any, dtype: str) -> None:
    flags = {f"transpose-{n}": t or None for n, t in zip("xy", turns)}
    x = integers(9, (2, 1, 4, 3) if turns[0] else (2, 1, 3, 4), dtype)
    y = integers(9, (5, 6, 4) if turns[1] else (5, 4, 6), dtype, 1)
    graph = graph_of(lambda b, x, y: b("matmul", x, y, **flags), x=x, y=y)
    assert len(launches(graph)) == 1
    check(lambda b, x, y: b("matmul", x, y, **flags), x=x, y=y)


def epilogue(operation: str) -> tuple[Any, Any, list[Any]]:
    """A product of 3 x 4 by 4 x 8, its memory, and its arrays."""
    memory, at, found = np.zeros(256), 8, []
    third = (3, 8) if operation == "matmul-gelu-slope" else (8,)
    shapes = [(3, 4), (4, 8), third, (3, 8)] + [(3, 8)] * (operation == "matmul-gelu")
    for k, shape in enumerate(shapes):
        array, view = laid(memory, at, shape, tuple(range(len(shape))))
        array[...] = np.random.default_rng(k).standard_normal(shape)
        found.append((array, view))
        at += array.size + 8
    return operation, memory, found


@pytest.mark.parametrize("operation", list(EPILOGUES)[1:])
def test_epilogues_get_their_pointers(operation: str, monkeypatch: Any, tmp_path: Any) -> None:
    _, memory, found = epilogue(operation)
    arrays, views = zip(*found)
    inputs = [a.copy() for a in arrays[:3]]
    gemm = gemm_of(operation, views[:3], views[3:], (False, False))
    column, picks = Column(memory), Tuning(PickCache(tmp_path))
    monkeypatch.setattr(multiply, "multiplier", lambda: column)
    monkeypatch.setattr(picked, "tuning", lambda: picks)
    arguments = tuple(WIDTH * v.offset for v in views)
    work = Multiply(gemm, arguments)
    work.prepare(HostDriver())  # type: ignore[arg-type]
    assert work.workspace_bytes in (16, 32)
    assert set(column.timed) == {"00", "01"}
    work.run(7, (*arguments, 0))
    end = EPILOGUES[operation]
    assert end is not None
    for array, value in zip(arrays[3:], end(inputs[0] @ inputs[1], inputs[2])):
        np.testing.assert_allclose(array, value, rtol=1e-12)


def test_a_pick_is_made_once_a_machine_and_is_what_a_run_kept(tmp_path: Any) -> None:
    made: list[int] = []

    def choose() -> Choice:
        made.append(1)
        return Choice(f"{len(made):02}", 64)

    first = Tuning(PickCache(tmp_path))
    assert first.pick("a", choose) == first.pick("a", choose) == Choice("01", 64)
    again = Tuning(PickCache(tmp_path))
    assert again.pick("a", choose) == Choice("01", 64)
    kept = Tuning(PickCache(tmp_path / "other"))
    assert kept.document() == ""
    kept.take(first.document())
    assert kept.pick("a", choose) == Choice("01", 64)
    assert len(made) == 1


def test_another_run_of_the_process_keeps_its_own_picks_only(tmp_path: Any) -> None:
    picks = Tuning(PickCache(tmp_path))
    picks.program("step")
    picks.pick("a", lambda: Choice("01", 0))
    picks.program("eval")
    picks.pick("b", lambda: Choice("02", 0))
    both = picks.document()
    assert picks.given(["step"]) != picks.given(["eval"])
    whole = json.loads(both)
    assert (whole["version"], whole["document"]) == (1, "tuning")
    assert json.loads(picks.given(["step", "eval"])) == whole["picks"]
    picks.take("")
    assert (picks.document(), picks.given(["step"])) == ("", "")
    picks.program("step")
    assert picks.pick("a", lambda: Choice("09", 0)) == Choice("01", 0)
    picks.take(both)
    assert picks.document() == both
