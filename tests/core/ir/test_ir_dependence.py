"""Which positions a value may depend on: through masks, shifts and sums, and never too few."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.dependence import Dependence
from sexpgpu_core.ir.ops import OPERATIONS, loops
from sexpgpu_core.ir.reach import EVERYWHERE, FAR, NOWHERE, along
from sexpgpu_core.ir.types import FLOATS

sys.path.append(str(Path(__file__).parents[2] / "graphs"))
from both_devices import STEP, inputs_of
from grown import graphs
from seen_positions import violations

T, D = 6, 4
Make = Callable[[Builder, Value], Value]


def analysed(make: Make, axis: int = 1) -> tuple[Dependence, Value, Graph]:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (2, T, D))
    y = make(b, x)
    b.graph.results["y"] = y
    return Dependence(b.graph, OPERATIONS, [x], axis), y, b.graph


def places(b: Builder) -> tuple[Value, Value]:
    """Query and key indices of (T T)."""
    return tuple(b("iota", dtype="i32", shape=(T, T), axis=a) for a in (0, 1))  # type: ignore


def scores(b: Builder, x: Value) -> Value:
    return b("matmul", x, b("tanh", x), **{"transpose-y": True})


def weighted(b: Builder, share: Value, x: Value) -> Value:
    return b("matmul", share, x)


def masked(mask: Callable[[Builder], Value], low: float = -1e9) -> Make:
    def make(b: Builder, x: Value) -> Value:
        kept = b("where", mask(b), scores(b, x), b.constant(low, "f32"))
        return weighted(b, b("softmax", kept, axis=2), x)

    return make


def upto(b: Builder, more: int = 0) -> Value:
    query, key = places(b)
    return b("less-equal", key, b("add", query, b.constant(more, "i32")))


def by_hand(b: Builder, x: Value) -> Value:
    """Softmax written out, the mask added."""
    bias = b("where", upto(b), b.constant(0.0, "f32"), b.constant(-1e9, "f32"))
    s = b("add", b("multiply", scores(b, x), b.constant(0.5, "f32")), bias)
    e = b("exp", b("subtract", s, b("reduce-max", s, axes=(2,), keep=True)))
    share = b("divide", e, b("reduce-sum", e, axes=(2,), keep=True))
    return weighted(b, share, x)


def averaged(b: Builder, x: Value) -> Value:
    """A lower triangle of ones over their number: the mean of what came before."""
    ones = b("cast", upto(b), dtype="f32")
    return b("matmul", b("divide", ones, b("reduce-sum", ones, axes=(1,), keep=True)), x)


def shifted(b: Builder, x: Value) -> Value:
    """Each position sees the one before."""
    late = b("pad", x, low=(0, 1, 0), high=(0, 0, 0), value=0.0)
    return b("slice", late, starts=(0, 0, 0), stops=(2, T, D), steps=(1, 1, 1))


def window(left: int, right: int) -> Make:
    def make(b: Builder, x: Value) -> Value:
        w = b.constant(0.25, "f32", (3, D, D))
        at: dict[str, Any] = {"strides": (1,), "dilations": (1,), "groups": 1}
        return b("conv", x, w, padding=((left, right),), **at)

    return make


def attention(**more: Any) -> Make:
    def make(b: Builder, x: Value) -> Value:
        q = b("reshape", x, shape=(2, T, 2, D // 2))
        return b("reshape", b("attention", q, q, q, **more), shape=(2, T, D))

    return make


def given_mask(b: Builder, x: Value) -> Value:
    q = b("reshape", x, shape=(2, T, 2, D // 2))
    return b("attention", q, q, q, upto(b), extras=("mask",))


def one_less(b: Builder) -> Value:
    """Up to the query, but for the key two before it."""
    query, key = places(b)
    apart = b("not-equal", query, b("add", key, b.constant(2, "i32")))
    return b("logical-and", upto(b), apart)


def stepped(reverse: bool = False, carried: bool = True) -> Make:
    """A loop over positions: its carry is what came before, its y the carry and the position."""

    def make(b: Builder, x: Value) -> Value:
        body = Builder(OPERATIONS)
        carry = body.input("carry:0", "body", "f32", (2, D))
        part = body.input("x:0", "body", "f32", (2, D))
        mixed = body("add", carry, part) if carried else part
        body.graph.results = {
            "carry:0": mixed,
            "y:1": body("tanh", body("matmul", mixed, body.constant(0.5, "f32", (D, D)))),
        }
        rows = b("permute", x, axes=(1, 0, 2))
        start = b.constant(0.0, "f32", (2, D))
        made = loops.scan(b, body.graph, {"carry:0": start, "x:0": rows}, T, reverse)
        return b("permute", made["y:1"], axes=(1, 0, 2))

    return make


def carried_alone(b: Builder, x: Value) -> Value:
    """A loop over positions whose y is what the trips before left: read one position late."""
    body = Builder(OPERATIONS)
    carry, part = (body.input(n, "body", "f32", (2, D)) for n in ("carry:0", "x:0"))
    body.graph.results = {"carry:0": body("add", carry, part), "y:1": body("tanh", carry)}
    early = b("slice", x, starts=(0, 1, 0), stops=(2, T, D), steps=(1, 1, 1))
    rows = b("permute", early, axes=(1, 0, 2))
    start = b.constant(0.0, "f32", (2, D))
    made = loops.scan(b, body.graph, {"carry:0": start, "x:0": rows}, T - 1)
    return b("permute", made["y:1"], axes=(1, 0, 2))


def last_of_all(b: Builder, x: Value) -> Value:
    """The last carry of a loop beside every position."""
    body = Builder(OPERATIONS)
    carry, part = (body.input(n, "body", "f32", (2, D)) for n in ("carry:0", "x:0"))
    body.graph.results = {"carry:0": body("add", carry, part)}
    rows = b("permute", x, axes=(1, 0, 2))
    start = b.constant(0.0, "f32", (2, D))
    made = loops.scan(b, body.graph, {"carry:0": start, "x:0": rows}, T)
    return b("add", x, b("reshape", made["carry:0"], shape=(2, 1, D)))


def within_each(b: Builder, x: Value) -> Value:
    """A loop over examples, in each of which positions stay where they are."""
    body = Builder(OPERATIONS)
    part = body.input("x:0", "body", "f32", (T, D))
    body.graph.results = {"y:0": body("cumsum", part, axis=0)}
    return loops.scan(b, body.graph, {"x:0": x}, 2)["y:0"]


def chosen(b: Builder, x: Value) -> Value:
    """One of two functions, by a test that no position reaches."""
    sides = []
    for operation in ("tanh", "exp"):
        side = Builder(OPERATIONS)
        capture = side.input("capture:0", "body", "f32", (2, T, D))
        side.graph.results = {"y:0": side(operation, capture)}
        sides.append(side.graph)
    test = b.constant(True, "bool")
    return loops.choose(b, test, sides[0], sides[1], {"capture:0": x})["y:0"]


def every_other(b: Builder, x: Value, start: int = 0) -> Value:
    return b("slice", x, starts=(0, start, 0), stops=(2, T, D), steps=(1, 2, 1))


def spread(b: Builder, x: Value, before: int = 0) -> Value:
    """Of (2 3 D): (2 T D) with zeros between, from index `before` on."""
    at = {"low": (0, before, 0), "high": (0, 1 - before, 0), "interior": (0, 1, 0)}
    return b("pad", x, value=0.0, **at)


def swapped(b: Builder) -> Value:
    return b("table", dtype="i32", shape=(6,), values=(1, 0, 3, 2, 5, 4))


def later(b: Builder, places: Value) -> Value:
    return b("add", places, b.constant(2, "i32"))


def paired(b: Builder, x: Value) -> Value:
    """By an index of two axes, of which the last is the place, in each example."""
    at = b("iota", dtype="i32", shape=(2, 3, T), axis=2)
    return b("reduce-sum", b("gather", x, at, axis=1, **{"batch-axes": 1}), axes=(1,))


def running(b: Builder, x: Value) -> Value:
    """Sums of each pair at its second place, at its first the place alone."""
    first, second = every_other(b, x), every_other(b, x, 1)
    return b("add", spread(b, first), spread(b, b("add", first, second), 1))


CAUSAL: dict[str, Make] = {
    "a loop over positions": stepped(),
    "what the trips before left": carried_alone,
    "a loop that keeps nothing": stepped(carried=False),
    "a loop over examples": within_each,
    "a choice": chosen,
    "elementwise": lambda b, x: b("tanh", b("add", x, x)),
    "a product with weights": lambda b, x: b("matmul", x, b.constant(0.5, "f32", (D, 3))),
    "a norm": lambda b, x: b("layer-norm", x, axes=(2,), eps=1e-5),
    "attention": attention(causal=True),
    "attention in a window": attention(causal=True, window=3),
    "attention with a mask": given_mask,
    "a mask by where": masked(upto),
    "a mask of infinity": masked(upto, float("-inf")),
    "a mask the other way round": masked(
        lambda b: b("logical-not", b("greater", places(b)[1], places(b)[0]))
    ),
    "a mask and another": masked(one_less),
    "a mask of softmax": lambda b, x: weighted(b, b("softmax", scores(b, x), upto(b), axis=2), x),
    "softmax by hand": by_hand,
    "a mean of what came": averaged,
    "a running sum": lambda b, x: b("cumsum", x, axis=1),
    "a shift to the right": shifted,
    "a window to the left": window(2, 0),
    "turned round twice": lambda b, x: b("flip", b("tanh", b("flip", x, axes=(1,))), axes=(1,)),
    "a running sum from the end, turned round": lambda b, x: b(
        "flip", b("cumsum", b("flip", x, axes=(1,)), axis=1, reverse=True), axes=(1,)
    ),
    "every other one, spread again": lambda b, x: spread(b, every_other(b, x)),
    "rows by their places": lambda b, x: b(
        "gather", x, b("iota", dtype="i32", shape=(4,), axis=0), axis=1
    ),
    "pairs": running,
    "rows of each example": paired,
    "rows along": lambda b, x: b(
        "take-along", x, b("iota", dtype="i32", shape=(2, T, D), axis=1), axis=1
    ),
    "turned round, looped from the end, turned back": lambda b, x: b(
        "flip", stepped(reverse=True)(b, b("flip", x, axes=(1,))), axes=(1,)
    ),
    "layers": lambda b, x: by_hand(b, b("add", x, masked(upto)(b, shifted(b, x)))),
}
AHEAD: dict[str, tuple[Make, str]] = {
    "a loop from the end": (stepped(reverse=True), "scan"),
    "what a loop ends with": (last_of_all, "scan"),
    "a mask that is off by one": (masked(lambda b: upto(b, 1)), "softmax"),
    "no mask": (lambda b, x: weighted(b, b("softmax", scores(b, x), axis=2), x), "softmax"),
    "attention without one": (attention(), "attention"),
    "a mask turned round": (masked(lambda b: b("greater-equal", *places(b)[::-1])), "softmax"),
    "a mask that is too weak": (masked(upto, -1.0), "matmul"),
    "a softmax over queries": (
        lambda b, x: weighted(b, b("softmax", scores(b, x), upto(b), axis=1), x), "softmax",
    ),
    "a shift to the left": (
        lambda b, x: b("slice", x, starts=(0, 1, 0), stops=(2, T, D), steps=(1, 1, 1)), "slice",
    ),
    "a running sum from the end": (lambda b, x: b("cumsum", x, axis=1, reverse=True), "cumsum"),
    "a window around": (window(1, 1), "conv"),
    "a mean over positions": (
        lambda b, x: b("add", x, b("reduce-sum", x, axes=(1,), keep=True)), "reduce-sum",
    ),
    "positions turned round": (lambda b, x: b("flip", x, axes=(1,)), "flip"),
    "every other one": (lambda b, x: b("exp", every_other(b, x)), "slice"),
    "rows by later places": (
        lambda b, x: b("gather", x, later(b, b("iota", dtype="i32", shape=(4,), axis=0)), axis=1),
        "gather",
    ),
    "an order that is written": (
        lambda b, x: b("gather", x, swapped(b), axis=1),
        "gather",
    ),
    "a running sum of what is turned round": (
        lambda b, x: b("flip", b("cumsum", b("flip", x, axes=(1,)), axis=1), axes=(1,)), "flip",
    ),
    "turned round, looped, turned back": (
        lambda b, x: b("flip", stepped()(b, b("flip", x, axes=(1,))), axes=(1,)), "flip",
    ),
    "indices outside": (
        lambda b, x: b("gather", x, later(b, b("iota", dtype="i32", shape=(5,), axis=0)), axis=1,
                       out="drop"),
        "gather",
    ),
    "a sort": (lambda b, x: b("sort", x, axis=1), "sort"),
}  # fmt: skip


@pytest.mark.parametrize("what", CAUSAL)
def test_what_sees_no_later_position_is_found_causal(what: str) -> None:
    found, y, _ = analysed(CAUSAL[what])
    assert found.of(y).upto(1), found.of(y)
    assert found.leak(y, 1) is None


@pytest.mark.parametrize("what", AHEAD)
def test_what_looks_ahead_is_found_and_named(what: str) -> None:
    make, named = AHEAD[what]
    found, y, _ = analysed(make)
    assert not found.of(y).upto(1)
    leak = found.leak(y, 1)
    assert leak is not None
    assert leak.node.operation == named
    assert (leak.path[0].operation, leak.path[-1]) == ("input", y.node)
    assert leak.node in leak.path
    assert all(a in [v.node for v in b.operands] for a, b in pairwise(leak.path))


@pytest.mark.parametrize("what", [*CAUSAL, *AHEAD])
def test_no_position_outside_a_reach_counts(what: str) -> None:
    make = CAUSAL[what] if what in CAUSAL else AHEAD[what][0]
    found, y, graph = analysed(make)
    data = {"x": np.random.default_rng(0).standard_normal((2, T, D)).astype("f4")}
    assert violations(graph, found, {"y": y}, data, "x", 1) == []


def test_examples_are_apart_until_something_joins_them() -> None:
    found, y, _ = analysed(by_hand, axis=0)
    assert found.of(y) == along(0)
    found, y, _ = analysed(lambda b, x: b("softmax", x, axis=0), axis=0)
    assert found.of(y) == EVERYWHERE
    found, y, _ = analysed(lambda b, x: b("iota", dtype="f32", shape=(3,), axis=0))
    assert found.of(y) == NOWHERE


def test_what_a_loop_leaves_depends_on_what_ends_it() -> None:
    """Its count of trips is of the last position alone; what it counts is a constant."""

    def counted(b: Builder, x: Value) -> Value:
        body = Builder(OPERATIONS)
        count, limit = (body.input(n, "body", "f32", ()) for n in ("carry:0", "capture:0"))
        body.input("carry:1", "body", "bool", ())
        after = body("add", count, body.constant(1.0, "f32"))
        body.graph.results = {"carry:0": after, "carry:1": body("less", after, limit)}
        last = b("slice", x, starts=(0, T - 1, 0), stops=(1, T, 1), steps=(1, 1, 1))
        limit = b("multiply", b("reshape", last, shape=()), b.constant(8.0, "f32"))
        start, go = b.constant(0.0, "f32"), b.constant(True, "bool")
        operands = {"carry:0": start, "carry:1": go, "capture:0": limit}
        made = loops.repeat(b, body.graph, operands, 20)
        return b("add", x, made["carry:0"])

    found, y, graph = analysed(counted)
    assert not found.of(y).upto(1)
    data = {"x": np.random.default_rng(0).standard_normal((2, T, D)).astype("f4")}
    assert violations(graph, found, {"y": y}, data, "x", 1) == []


def test_a_window_of_attention_has_two_ends() -> None:
    def near(b: Builder) -> Value:
        query, key = places(b)
        close = b("less", b("subtract", query, key), b.constant(3, "i32"))
        return b("logical-and", upto(b), close)

    found, y, _ = analysed(lambda b, x: weighted(b, b("softmax", scores(b, x), near(b), axis=2), x))
    low, high = found.of(y).bound(1) or (0, FAR)
    assert high == 0
    assert low in (-2, -FAR)


@settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(graphs())
def test_no_value_of_a_random_graph_changes_outside_its_reach(graph: Graph) -> None:
    inputs = [n for n in graph.inputs() if n.get("kind") == "batch"]
    source = next(n for n in inputs if n.types[0].dtype in FLOATS)
    if not source.types[0].shape:
        return
    axis = max(range(len(source.types[0].shape)), key=lambda a: source.types[0].shape[a])
    found = Dependence(graph, OPERATIONS, [Value(source)], axis)
    data = {**inputs_of(graph, 3), "step": np.int32(STEP)}
    results = dict(graph.results)
    assert violations(graph, found, results, data, source.get("name"), axis)[:3] == []
