"""Passes over loops: scans are joined, unread results go, what no trip changes is done before."""

from __future__ import annotations

import numpy as np

from sexpgpu_core.ir import Builder, Graph, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.ops.loops import scan
from sexpgpu_core.ir.verify import verify
from sexpgpu_core.passes.invariants import hoist
from sexpgpu_core.passes.loops import join_scans
from sexpgpu_core.passes.optimize import optimize

GIVEN = {
    "h": np.linspace(0, 1, 3, dtype="f4"),
    "x": np.linspace(-1, 1, 12, dtype="f4").reshape(4, 3),
    "w": np.linspace(-1, 2, 9, dtype="f4").reshape(3, 3),
}


def body(*more: str) -> Graph:
    """h' = h v W^2 with y: h', and those named in `more`."""
    b = Builder(OPERATIONS)
    h, x = b.input("carry:0", "body", "f32", (3,)), b.input("x:0", "body", "f32", (3,))
    w = b.input("capture:0", "body", "f32", (3, 3))
    square = b("matmul", w, w)
    row = b("reshape", b("add", h, x), shape=(1, 3))
    new = b("reshape", b("matmul", row, square), shape=(3,))
    known = {"old": h, "sine": b("sin", new), "double": b("add", new, new)}
    b.graph.results = {"carry:0": new, "y:0": new}
    b.graph.results.update({f"y:{i + 1}": known[n] for i, n in enumerate(more)})
    return b.graph


def around(*bodies: Graph) -> tuple[Builder, list[dict[str, Value]]]:
    b = Builder(OPERATIONS)
    inputs = [b.input(n, "parameter", "f32", a.shape) for n, a in GIVEN.items()]
    names = ("carry:0", "x:0", "capture:0")
    return b, [scan(b, body, dict(zip(names, inputs)), 4) for body in bodies]


def equal(graph: Graph, changed: Graph) -> None:
    verify(changed, OPERATIONS)
    wanted, found = run(graph, GIVEN, OPERATIONS), run(changed, GIVEN, OPERATIONS)
    assert wanted.keys() == found.keys()
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-6)


def scans(graph: Graph) -> list[tuple[str, ...]]:
    """The results of each scan, by name."""
    nodes = [n for n in graph.nodes if n.operation == "scan"]
    return [tuple(name for name, _, _ in n.get("results")) for n in nodes]


def test_scans_of_equal_operands_are_one() -> None:
    b, (first, second) = around(body("old"), body("sine", "old"))
    b.graph.results = {"a": first["y:1"], "b": second["y:1"], "c": second["y:2"]}
    joined = join_scans(b.graph, OPERATIONS)
    assert scans(joined) == [("carry:0", "y:1", "y:2")]
    equal(b.graph, joined)


def test_scans_with_other_carries_stay_apart() -> None:
    other = body()
    other.results["carry:0"] = next(Value(n) for n in other.inputs())
    b, (first, second) = around(body(), other)
    b.graph.results = {"a": first["carry:0"], "b": second["carry:0"]}
    joined = join_scans(b.graph, OPERATIONS)
    assert len(scans(joined)) == 2
    equal(b.graph, joined)


def test_what_no_one_reads_is_not_stacked() -> None:
    b, (found,) = around(body("old", "sine", "double"))
    b.graph.results = {"it": found["y:2"]}
    joined = join_scans(b.graph, OPERATIONS)
    assert scans(joined) == [("carry:0", "y:1")]
    equal(b.graph, joined)


def test_a_product_of_what_no_trip_changes_is_made_once() -> None:
    b, (found,) = around(body("sine"))
    b.graph.results = {"it": found["y:1"], "last": found["carry:0"]}
    moved = hoist(b.graph, OPERATIONS)
    assert [n.operation for n in moved.nodes].count("matmul") == 1
    (inner,) = (moved.bodies[n.get("body")] for n in moved.nodes if n.operation == "scan")
    live = inner.live()
    assert [n.operation for n in inner.nodes if n.id in live].count("matmul") == 1
    equal(b.graph, moved)


def test_weights_are_cast_once_and_not_in_each_trip() -> None:
    b, (found,) = around(body())
    b.graph.results = {"it": found["y:0"]}
    small, _ = optimize(b.graph, OPERATIONS, lambda name: name in ("scan", "matmul"), "bf16")
    verify(small, OPERATIONS)
    (inner,) = small.bodies.values()
    casts = [n for n in inner.nodes if n.operation == "cast"]
    assert all(n.operands[0].node.get("name") != "capture:0" for n in casts)
    wanted = run(b.graph, GIVEN, OPERATIONS)["it"]
    np.testing.assert_allclose(run(small, GIVEN, OPERATIONS)["it"], wanted, rtol=0.1, atol=0.1)
