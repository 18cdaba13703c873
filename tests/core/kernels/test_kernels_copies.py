"""Copies end: whatever moves lie over a value that is not stored, a schedule is found and right."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_schedule import filled, library, run_node, seen

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.interpret import run as interpret
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.interpret import run_call
from sexpgpu_core.kernels.kernel import KernelCall, Schedule
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.plan.make import layout_persistent, make_plan

sys.path.insert(0, str(Path(__file__).parents[1] / "ir"))
from op_cases import DIFFERENTIABLE, Case, arrays, built

DEPTH = 150
"""Frames that fusion may go down: copies of copies of copies would go further."""
CALLS = 60
"""Calls that no operation of these sizes needs with its gradient."""


WINDOWS = ("conv", "conv-input-gradient", "conv-weight-gradient", "max-pool")
WINDOWS += ("max-pool-gradient", "avg-pool", "avg-pool-gradient")


def calls(name: str) -> bool:
    """What a device has kernels of its own for."""
    return name in WINDOWS or library(name)


@contextmanager
def shallow() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + DEPTH)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def cut(graph: Graph) -> Schedule:
    with shallow():
        made = schedule(graph, OPERATIONS, calls)
    assert len(made.calls) < CALLS
    make_plan("copies", made, layout_persistent({}))
    return made


def agree(graph: Graph, given: dict[str, Any], bound: float = 2e-4) -> Schedule:
    """What the kernels mean, by their interpreter, is what the graph means."""
    made = cut(graph)
    buffers = filled(made, given)
    for call in made.calls:
        if isinstance(call, KernelCall):
            assert run_call(call, buffers, OPERATIONS) is None
        else:
            run_node(call, buffers)
    for name, want in interpret(graph, given, OPERATIONS).items():
        got = seen(made.results[name], buffers)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, bound, bound, err_msg=name)
    return made


def with_gradients(given: Case, seeded: bool) -> Graph:
    """Results and gradients, from a seed of ones or from one that is an input."""
    b, inputs, results = built(given, "f32")
    b.graph.results = {f"result:{i}": y for i, y in enumerate(results)}
    wrt = {str(i): v for i, v in enumerate(inputs) if v.dtype == "f32"}
    for i, y in enumerate(results):
        if y.dtype != "f32":
            continue
        seed = b.input(f"seed{i}", "batch", "f32", y.shape) if seeded else 1.0
        found = differentiate(b.graph, OPERATIONS, y, wrt, seed)
        b.graph.results.update({f"gradient:{i}:{n}": g for n, g in found.items() if g is not None})
    return b.graph


def data(graph: Graph, given: Case) -> dict[str, Any]:
    found = arrays(given)
    random = np.random.default_rng(1)
    for node in graph.inputs():
        name, type = node.get("name"), node.types[0]
        values = found.get(name, random.uniform(0.5, 1.5, type.shape))
        found[name] = np.asarray(values).astype(numpy_dtype(type.dtype))
    return found


@pytest.mark.parametrize("seeded", [False, True], ids=["ones", "seeded"])
def test_every_operation_and_its_gradient_is_cut_without_copies_of_copies(seeded: bool) -> None:
    for given in DIFFERENTIABLE:
        graph = with_gradients(given, seeded)
        cut(graph)
        cut(optimize(graph, OPERATIONS, calls)[0])


HARD = [
    c
    for c in DIFFERENTIABLE
    if c.operation in ("reduce-max", "reduce-min", "cummax", "cummin", "rope", "gather", "matmul")
]


@pytest.mark.parametrize("given", HARD, ids=lambda c: c.id)
def test_those_that_need_copies_give_what_the_graph_means(given: Case) -> None:
    graph = with_gradients(given, seeded=False)
    agree(optimize(graph, OPERATIONS, calls)[0], data(graph, given))


def _turned_and_regrouped(b: Builder, x: Value) -> Value:
    """No strides say a reshape of a permuted value."""
    y = b("permute", b("negate", x), axes=(1, 0, 2))
    return b("reshape", y, shape=(4, 6))


def _iota(b: Builder, x: Value) -> Value:
    return b("iota", dtype="f32", shape=(2, 3, 4), axis=1)


MOVES: dict[str, Callable[[Builder, Value], Value]] = {
    "flip": lambda b, x: b("flip", x, axes=(0, len(x.shape) - 1)),
    "slice": lambda b, x: b(
        "slice",
        x,
        starts=tuple(int(n > 1) for n in x.shape),
        stops=x.shape,
        steps=(2,) * len(x.shape),
    ),
    "regroup": lambda b, x: b("reshape", x, shape=_halved(x)),
    "turn": lambda b, x: b("permute", x, axes=tuple(range(len(x.shape)))[::-1]),
    "widen": lambda b, x: b("broadcast-to", x, shape=(3, *x.shape)),
}


def _halved(x: Value) -> tuple[int, ...]:
    """Cut where no axis ended."""
    size = x.type.size
    return next(((n, size // n) for n in (2, 3, 4, 6) if size % n == 0), (size,))


@pytest.mark.parametrize("start", [_turned_and_regrouped, _iota], ids=["computed", "iota"])
@pytest.mark.parametrize("first", MOVES)
@pytest.mark.parametrize("second", MOVES)
@pytest.mark.parametrize("third", MOVES)
def test_chains_of_moves_over_what_is_not_stored_are_followed(
    start: Callable[[Builder, Value], Value], first: str, second: str, third: str
) -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (2, 3, 4))
    value = start(b, x)
    for name in (first, second, third):
        value = MOVES[name](b, value)
    b.graph.results["y"] = b("tanh", value)
    b.graph.results["z"] = b("reduce-sum", b("square", value), axes=(0,), keep=False)
    agree(b.graph, {"x": np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")})


@pytest.mark.parametrize(
    ("operation", "shape", "index", "axis"),
    [
        ("gather", (5, 3), (), 1),
        ("gather", (5, 3), (1,), 1),
        ("gather", (2, 3, 4), (2, 1), 1),
        ("take-along", (3, 4), (3, 1), 1),
        ("take-along", (3, 4), (3, 2), 1),
    ],
)
@pytest.mark.parametrize("computed", [False, True])
def test_one_index_into_the_last_axis_reads_a_turned_table(
    operation: str, shape: tuple[int, ...], index: tuple[int, ...], axis: int, computed: bool
) -> None:
    b = Builder(OPERATIONS)
    x, at = b.input("x", "batch", "f32", shape), b.input("i", "batch", "i32", index)
    table = b("negate", x) if computed else x
    b.graph.results["y"] = b(operation, table, at, axis=axis)
    rng = np.random.default_rng(0)
    given = {"x": rng.standard_normal(shape).astype("f4")}
    agree(b.graph, {**given, "i": rng.integers(0, 3, index).astype("i4")})


def test_a_fold_that_is_spread_over_a_row_is_read_where_it_was_stored() -> None:
    b = Builder(OPERATIONS)
    x, y = (b.input(n, "batch", "f32", (3, 3)) for n in "xy")
    low = b("tanh", b("reduce-min", x, axes=(0,), keep=False))
    b.graph.results["a"] = b("multiply", b("subtract", y, low), b.constant(0.5, "f32"))
    b.graph.results["s"] = b("reduce-sum", b("square", y), axes=(0, 1), keep=False)
    corner = b("slice", y, starts=(2, 0), stops=(3, 1), steps=(1, 1))
    b.graph.results["c"] = b("minimum", corner, low)
    rng = np.random.default_rng(0)
    made = agree(b.graph, {n: rng.standard_normal((3, 3)).astype("f4") for n in "xy"})
    assert sum(_folds(c, "min") for c in made.calls) == 1


def _folds(call: Any, kind: str) -> bool:
    return any(s.fold == kind for s in call.kernel.stores)


def test_a_reduction_of_one_element_takes_a_turned_operand_of_more_axes() -> None:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (1, 1))
    y = b("permute", b("tanh", x), axes=(1, 0))
    b.graph.results["y"] = y
    b.graph.results["s"] = b("exp", b("reduce-sum", y, axes=(1,), keep=False))
    b.graph.results["z"] = b("add", y, x)
    agree(b.graph, {"x": np.full((1, 1), 0.3, np.float32)})


@pytest.mark.parametrize("shape", [(1, 2, 1), (2, 1, 3), (1, 1, 1)])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_what_moves_a_reduction_over_one_element_may_stand_in_its_kernel(
    shape: tuple[int, int, int], axis: int
) -> None:
    b = Builder(OPERATIONS)
    x, y, z = (b.input(n, "batch", "f32", shape) for n in "xyz")
    normed = b("rms-norm", x, axes=(axis,), eps=0.1)
    turned = b("flip", b("add", y, normed), axes=(axis,))
    shifted = b("subtract", b.constant(1.0, "f32"), b("add", z, turned))
    b.graph.results["y"] = b("add", shifted, b("subtract", y, x))
    rng = np.random.default_rng(0)
    agree(b.graph, {n: rng.standard_normal(shape).astype("f4") for n in "xyz"})
