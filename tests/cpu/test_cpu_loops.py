"""Loops on the CPU: what the references say, the same bits on any number of threads, and a plan
whose work and room do not grow with the trips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from sexpgpu_core.autodiff import differentiate
from sexpgpu_core.device import Unit
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.loops import choose, repeat, scan
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.kernels.fuse import schedule
from sexpgpu_core.kernels.kernel import KernelCall, Repeat
from sexpgpu_core.passes.optimize import optimize
from sexpgpu_core.plan.make import layout_persistent, make_plan
from sexpgpu_core.plan.plan import Plan, Region
from sexpgpu_cpu.operations import LIBRARY_OPERATIONS
from sexpgpu_cpu.session import CpuSession

TAKEN = LIBRARY_OPERATIONS.__contains__
Types = dict[str, tuple[int, ...]]


class Body:
    """A body being built; inputs by their names."""

    def __init__(self) -> None:
        self.b = Builder(OPERATIONS)

    def __call__(self, name: str, *shape: int, dtype: str = "f32") -> Value:
        return self.b.input(name, "body", dtype, shape)

    def gives(self, *carries: Value, y: tuple[Value, ...] = ()) -> Any:
        named = {f"carry:{i}": v for i, v in enumerate(carries)}
        named.update({f"y:{i}": v for i, v in enumerate(y)})
        self.b.graph.results = named
        return self.b.graph


class Made(NamedTuple):
    b: Builder
    results: dict[str, Value]
    inputs: dict[str, Value]


def planned(made: Made) -> tuple[Plan, Any]:
    made.b.graph.results = made.results
    verify(made.b.graph, OPERATIONS)
    small, _ = optimize(made.b.graph, OPERATIONS, TAKEN)
    verify(small, OPERATIONS)
    persistent = layout_persistent({f"parameter:{n}": v.type for n, v in made.inputs.items()})
    return make_plan("test", schedule(small, OPERATIONS, TAKEN), persistent), persistent


def on_cpu(made: Made, given: Mapping[str, Any], threads: int = 1) -> dict[str, Any]:
    plan, persistent = planned(made)
    unit = Unit("test", made.b.graph, plan)
    session = CpuSession([unit], persistent, threads)
    try:
        for name, value in given.items():
            session.write(f"parameter:{name}", value)
        first = session.program("test").launch({}, {}).outcome()
        again = session.program("test").launch({}, {}).outcome()
        assert first.error is None
        for name, value in first.results.items():  # all words of the loop are what they were
            np.testing.assert_array_equal(again.results[name], value)
        return first.results
    finally:
        session.close()


def arrays(made: Made, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {n: random.standard_normal(v.shape).astype("f4") * 0.5 for n, v in made.inputs.items()}


def agrees(made: Made, tolerance: float = 2e-5) -> None:
    given = arrays(made)
    made.b.graph.results = made.results
    wanted = run(made.b.graph, given, OPERATIONS)
    first = on_cpu(made, given)
    for name, value in wanted.items():
        scale = max(1.0, float(np.abs(value).max(initial=0)))
        np.testing.assert_allclose(first[name], value, rtol=tolerance, atol=tolerance * scale)
    for threads in (2, 3):
        for name, value in on_cpu(made, given, threads).items():
            np.testing.assert_array_equal(value, first[name])


def recurrent(trips: int, width: int = 24, rows: int = 5, **more: Any) -> Made:
    """h' = tanh(x w + h u + b), y = h' h; results: the loss and all gradients."""
    body = Body()
    b = body.b
    h, x = body("carry:0", rows, width), body("x:0", rows, 7)
    w, u, bias = (
        body("capture:0", 7, width),
        body("capture:1", width, width),
        body("capture:2", width),
    )
    z = b("add", b("add", b("matmul", x, w), b("matmul", h, u)), bias)
    new = b("tanh", z)
    graph = body.gives(new, y=(b("multiply", new, h),))
    b = Builder(OPERATIONS)
    shapes: Types = {
        "h": (rows, width), "x": (trips, rows, 7), "w": (7, width), "u": (width, width),
        "b": (width,),
    }  # fmt: skip
    inputs = {n: b.input(n, "parameter", "f32", s) for n, s in shapes.items()}
    names = ("carry:0", "x:0", "capture:0", "capture:1", "capture:2")
    found = scan(b, graph, dict(zip(names, inputs.values())), trips, **more)
    ends = b("reduce-sum", b("square", found["carry:0"]), axes=(0, 1), keep=False)
    loss = b("add", ends, b("reduce-sum", found["y:0"], axes=(0, 1, 2), keep=False))
    results = differentiate(b.graph, OPERATIONS, loss, inputs)
    return Made(b, {"loss": loss, **{n: g for n, g in results.items() if g is not None}}, inputs)


@pytest.mark.parametrize("save", [None, "carry"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("trips", [1, 9])
def test_a_recurrent_net_and_its_gradients(trips: int, reverse: bool, save: str | None) -> None:
    made = recurrent(trips, reverse=reverse, save=save)
    assert len(made.results) == 6
    agrees(made)


def test_no_trips_leave_the_carry() -> None:
    body = Body()
    graph = body.gives(body.b("exp", body("carry:0", 4)), y=(body("carry:0", 4),))
    b = Builder(OPERATIONS)
    x = b.input("x", "parameter", "f32", (4,))
    found = scan(b, graph, {"carry:0": x}, 0)
    agrees(Made(b, {"last": found["carry:0"]}, {"x": x}))


def test_carries_may_change_places_and_be_what_is_stacked() -> None:
    body = Body()
    one, two, x = body("carry:0", 6), body("carry:1", 6), body("x:0", 6)
    more = body.b("add", one, x), body.b.constant(2.0, "f32", (6,))
    graph = body.gives(two, one, y=(one, x, *more))
    b = Builder(OPERATIONS)
    inputs = {n: b.input(n, "parameter", "f32", s) for n, s in
              {"one": (6,), "two": (6,), "x": (5, 6)}.items()}  # fmt: skip
    found = scan(b, graph, dict(zip(("carry:0", "carry:1", "x:0"), inputs.values())), 5)
    agrees(Made(b, dict(found), inputs))


def test_a_scan_in_a_scan_with_tables_and_moves() -> None:
    inner = Body()
    h, x, w = inner("carry:0", 4), inner("x:0", 4), inner("capture:0", 3, 4)
    some = inner.b(
        "gather", w, inner.b("cast", inner.b("sign", x), dtype="i32"), axis=0, out="drop"
    )
    table = inner.b("table", dtype="f32", shape=(4,), values=(1.0, 2.0, -1.0, 0.5))
    row = inner.b("reduce-sum", some, axes=(0,), keep=False)
    new = inner.b("add", inner.b("multiply", h, table), row)
    graph = inner.gives(new, y=(inner.b("cumsum", h, axis=0),))
    outer = Body()
    carry, rows, w = outer("carry:0", 4), outer("x:0", 3, 4), outer("capture:0", 3, 4)
    found = scan(outer.b, graph, {"carry:0": carry, "x:0": rows, "capture:0": w}, 3, reverse=True)
    graph = outer.gives(outer.b("tanh", found["carry:0"]), y=(found["y:0"],))
    b = Builder(OPERATIONS)
    inputs = {n: b.input(n, "parameter", "f32", s) for n, s in
              {"h": (4,), "x": (5, 3, 4), "w": (3, 4)}.items()}  # fmt: skip
    found = scan(b, graph, dict(zip(("carry:0", "x:0", "capture:0"), inputs.values())), 5)
    agrees(Made(b, dict(found), inputs))


def test_a_while_loop_ends_by_itself_and_by_its_limit() -> None:
    for limit in (100, 3, 0):
        body = Body()
        v, _ = body("carry:0", 4), body("carry:1", dtype="bool")
        new = body.b("multiply", v, body.b.constant(1.5, "f32"))
        size = body.b("reduce-sum", body.b("abs", new), axes=(0,), keep=False)
        graph = body.gives(new, body.b("less", size, body.b.constant(50.0, "f32")))
        b = Builder(OPERATIONS)
        x = b.input("x", "parameter", "f32", (4,))
        go = b.constant(True, "bool")
        found = repeat(b, graph, {"carry:0": x, "carry:1": go}, limit)
        agrees(Made(b, {"it": found["carry:0"]}, {"x": x}))


def test_a_device_without_while_loops_says_so() -> None:
    body = Body()
    graph = body.gives(body("carry:0", 4), body.b.constant(False, "bool"))
    b = Builder(OPERATIONS)
    x, go = b.input("x", "parameter", "f32", (4,)), b.input("go", "parameter", "bool", ())
    b.graph.results = {"it": repeat(b, graph, {"carry:0": x, "carry:1": go})["carry:0"]}
    with pytest.raises(Problem) as found:
        schedule(b.graph, OPERATIONS, lambda name: name != "while")
    assert found.value.diagnostic.code == "E-LOWER-WHILE"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_choice_runs_one_side(sign: float) -> None:
    """The other would read outside of its table."""
    sides = []
    for places in (2, 7):
        body = Body()
        x = body("capture:0", 4)
        index = body.b("iota", dtype="i32", shape=(4,), axis=0)
        index = body.b("add", index, body.b.constant(places - 2, "i32"))
        body.b.graph.results = {"y:0": body.b("gather", x, index, axis=0)}
        sides.append(body.b.graph)
    b = Builder(OPERATIONS)
    x = b.input("x", "parameter", "f32", (4,))
    total = b("multiply", b("reduce-sum", x, axes=(0,), keep=False), b.constant(sign, "f32"))
    yes, no = sides
    test = b("less", b.constant(0.0, "f32"), total)
    found = choose(b, test, yes, no, {"capture:0": x})
    given = {"x": np.array([1, 2, 3, 4], "f4") * np.float32(sign)}
    made = Made(b, {"it": found["y:0"]}, {"x": x})
    np.testing.assert_array_equal(on_cpu(made, given)["it"], given["x"])


def test_random_numbers_of_trips_are_the_references() -> None:
    body = Body()
    h, trip, step = body("carry:0", 3), body("x:trip", dtype="i32"), body("capture:0", dtype="i32")
    zero = body.b.constant(0, "i32")
    keys = {"site": "s", "domain": "train", "seed": 3}
    drawn = body.b("random-uniform", step, zero, trip, shape=(3,), dtype="f32", **keys)
    graph = body.gives(body.b("add", h, drawn), y=(drawn,))
    b = Builder(OPERATIONS)
    x = b.input("x", "parameter", "f32", (3,))
    trips = b("iota", dtype="i32", shape=(6,), axis=0)
    found = scan(b, graph, {"carry:0": x, "x:trip": trips, "capture:0": b.constant(4, "i32")}, 6)
    made = Made(b, dict(found), {"x": x})
    agrees(made, 1e-6)
    assert len(np.unique(on_cpu(made, {"x": np.zeros(3, "f4")})["y:0"])) == 18


# What ten thousand trips cost -------------------------------------------------------------------
def in_loops(plan: Plan) -> list[Any]:
    return [c for loop in plan.calls if isinstance(loop, Repeat) for c in loop.plan.calls]


@pytest.mark.parametrize("save", [None, "carry"])
def test_ten_thousand_trips_compile_to_the_calls_of_two(save: str | None) -> None:
    few, many = planned(recurrent(2, save=save))[0], planned(recurrent(10_000, save=save))[0]
    assert len(many.calls) <= len(few.calls) + 2  # the loss is added up in two rounds
    kernels = [
        [c.kernel.key() for c in in_loops(plan) if isinstance(c, KernelCall)]
        for plan in (few, many)
    ]
    assert kernels[0] == kernels[1]
    assert len(in_loops(many)) == len(in_loops(few))


def test_the_memory_of_a_scan_is_what_is_stacked_and_one_trips_room() -> None:
    rows, width, trips = 5, 24, 10_000
    for save, stacked in ((None, 4), ("carry", 3)):
        few, many = (planned(recurrent(n, save=save))[0] for n in (100, trips))
        grown = many.bytes[Region.TRANSIENT] - few.bytes[Region.TRANSIENT]
        a_trip = 4 * rows * width
        assert grown / (trips - 100) <= stacked * a_trip * 1.02
        assert rooms(few) == rooms(many)


def rooms(plan: Plan) -> list[int]:
    return [plan.buffers[c.room].bytes for c in plan.calls if isinstance(c, Repeat)]


def test_a_long_scan_runs() -> None:
    made = recurrent(10_000, width=8, rows=2)
    given = arrays(made)
    found = on_cpu(made, given)
    assert all(np.isfinite(v).all() for v in found.values())


def test_the_checked_build_finds_no_read_of_what_was_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = recurrent(9)
    wanted = on_cpu(made, arrays(made))
    monkeypatch.setenv("SEXPGPU_CHECK", "1")
    for name, value in on_cpu(made, arrays(made)).items():
        np.testing.assert_array_equal(value, wanted[name])
