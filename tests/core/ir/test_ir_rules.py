"""Local rules: what each makes of a node, and that values stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.interpret import run
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.rules import local_rule
from sexpgpu_core.ir.text import node_text


def _builder() -> tuple[Builder, Value, Value]:
    b = Builder(OPERATIONS, rule=local_rule)
    return b, b.input("x", "batch", "f32", (2, 3)), b.input("i", "batch", "i32", (2, 3))


IDENTITIES = {
    "x + 0": lambda b, x: b("add", x, b.like(0.0, x)),
    "0 + x": lambda b, x: b("add", b.like(0.0, x), x),
    "x - 0": lambda b, x: b("subtract", x, b.like(0.0, x)),
    "x 1": lambda b, x: b("multiply", x, b.like(1.0, x)),
    "x 1 of x's shape": lambda b, x: b("multiply", b.constant(1.0, "f32", (2, 3)), x),
    "x / 1": lambda b, x: b("divide", x, b.like(1.0, x)),
    "--x": lambda b, x: b("negate", b("negate", x)),
    "x^1": lambda b, x: b("power", x, b.like(1.0, x)),
    "reshape to its shape": lambda b, x: b("reshape", x, shape=(2, 3)),
    "reshape there and back": lambda b, x: b("reshape", b("reshape", x, shape=(6,)), shape=(2, 3)),
    "permute there and back": lambda b, x: b("permute", b("permute", x, axes=(1, 0)), axes=(1, 0)),
    "permute in order": lambda b, x: b("permute", x, axes=(0, 1)),
    "broadcast to its shape": lambda b, x: b("broadcast-to", x, shape=(2, 3)),
    "slice of all": lambda b, x: b("slice", x, starts=(0, 0), stops=(2, 3), steps=(1, 1)),
    "pad by nothing": lambda b, x: b("pad", x, low=(0, 0), high=(0, 0), value=0.0),
    "concat of one": lambda b, x: b("concat", x, axis=0),
    "flip twice": lambda b, x: b("flip", b("flip", x, axes=(0,)), axes=(0,)),
    "sum over nothing": lambda b, x: b("reduce-sum", x, axes=(), keep=False),
    "max over nothing": lambda b, x: b("reduce-max", x, axes=(), keep=True),
    "cast to its dtype": lambda b, x: b("cast", x, dtype="f32"),
    "cast to f64 and back": lambda b, x: b("cast", b("cast", x, dtype="f64"), dtype="f32"),
    "where true": lambda b, x: b("where", b.constant(True, "bool"), x, b.like(0.0, x)),
    "where of the same": lambda b, x: b("where", b("greater", x, b.like(0.0, x)), x, x),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_an_identity_is_its_operand(name: str) -> None:
    b, x, _ = _builder()
    assert IDENTITIES[name](b, x) == x


KEPT = {
    "cast to bf16 and back": lambda b, x, i: b("cast", b("cast", x, dtype="bf16"), dtype="f32"),
    "cast to f16 and back": lambda b, x, i: b("cast", b("cast", x, dtype="f16"), dtype="f32"),
    "cast to integers and back": lambda b, x, i: b("cast", b("cast", x, dtype="i32"), dtype="f32"),
    "wide integers by f32": lambda b, x, i: b("cast", b("cast", i, dtype="f32"), dtype="i32"),
    "x + 0 of a wider shape": lambda b, x, i: b("add", x, b.constant(0.0, "f32", (4, 2, 3))),
    "stop-gradient twice": lambda b, x, i: b("stop-gradient", b("stop-gradient", x)),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_identity_stays(name: str) -> None:
    b, x, i = _builder()
    made = KEPT[name](b, x, i)
    assert made not in (x, i)
    assert len(b.graph.nodes) >= 4


def test_splats_are_folded_and_rounded_once() -> None:
    b, x, _ = _builder()
    one, tiny = b.like(1.0, x), b.like(2.0**-24 + 2.0**-40, x)
    assert b("add", one, tiny).node.get("value") == 1 + 2.0**-23
    wide = b("broadcast-to", b("multiply", b.like(2.0, x), b.like(3.0, x)), shape=(4, 5))
    assert node_text(wide.node).endswith(
        '(f32 4 5) (constant :dtype "f32" :shape (4 5) :value 6.0))'
    )


def test_what_would_be_infinite_is_not_folded() -> None:
    b, x, _ = _builder()
    big = b.like(3e38, x)
    assert b("add", big, big).node.operation == "add"
    assert b("divide", big, b.like(0.0, x)).node.operation == "divide"
    huge = b.constant(2**31 - 1, "i32")
    assert b("add", huge, huge).node.operation == "add"


def test_zero_times_x_is_a_splat_of_the_whole_shape() -> None:
    b, x, i = _builder()
    found = b("multiply", x, b.like(0.0, x))
    assert (found.node.operation, found.shape) == ("constant", (2, 3))
    whole = b("multiply", b.like(0, i), i)
    assert (whole.node.get("value"), whole.type) == (0, i.type)


def test_products_take_transpositions_in() -> None:
    b, x, _ = _builder()
    turned = b("permute", x, axes=(1, 0))
    assert b("matmul", x, turned).node.attributes == (("transpose-y", True),)
    assert b("matmul", turned, x).node.attributes == (("transpose-x", True),)
    flags = {"transpose-x": True, "transpose-y": True}
    y = b.input("y", "batch", "f32", (3, 2))
    found = b("matmul", turned, b("permute", y, axes=(1, 0)), **flags).node
    assert (found.attributes, found.operands) == ((), (x, y))


def test_permutations_join() -> None:
    b = Builder(OPERATIONS, rule=local_rule)
    x = b.input("x", "batch", "f32", (2, 3, 4))
    found = b("permute", b("permute", x, axes=(1, 2, 0)), axes=(1, 2, 0))
    assert (found.node.operands, found.node.get("axes")) == ((x,), (2, 0, 1))


def test_a_splat_that_need_not_be_wide_becomes_a_scalar() -> None:
    b, x, _ = _builder()
    found = b("multiply", x, b.constant(0.5, "f32", (2, 1)))
    assert found.node.operands[1].shape == ()


def test_a_tied_gradient_is_added_in_place() -> None:
    b = Builder(OPERATIONS, rule=local_rule)
    table, rows = b.input("t", "batch", "f32", (5, 3)), b.input("r", "batch", "f32", (2, 3))
    index = b.input("i", "batch", "i32", (2,))
    added = b("scatter-add", b.constant(0.0, "f32", (5, 3)), index, rows, axis=0)
    found = b("add", table, added)
    assert found.node.operation == "scatter-add"
    assert found.node.operands == (table, index, rows)


_STEPS = ("add", "subtract", "multiply", "divide", "where", "permute", "reshape", "sum", "matmul",
          "negate", "flip", "broadcast", "cast", "square")  # fmt: skip


def _make(draw, b: Builder, x: Value, y: Value, step: str) -> Value:
    """A value of (3 3) from two such."""
    if step in ("add", "subtract", "multiply"):
        return b(step, x, y)
    if step == "divide":
        return b("divide", x, b.like(draw(st.sampled_from((1.0, 2.0, -0.5))), x))
    if step == "where":
        return b("where", b("greater", x, y), x, b.like(draw(st.sampled_from((0.0, 1.0))), x))
    if step == "permute":
        return b("permute", x, axes=draw(st.sampled_from(((0, 1), (1, 0)))))
    if step == "reshape":
        return b("reshape", b("reshape", x, shape=(9,)), shape=(3, 3))
    if step == "sum":
        return b("add", y, b("reduce-sum", x, axes=draw(st.sampled_from(((), (0,)))), keep=True))
    if step == "matmul":
        return b("matmul", b("tanh", x), y)
    if step == "broadcast":
        number = draw(st.sampled_from((0.0, 1.0, -1.0, 0.25)))
        return b("multiply", x, b("broadcast-to", b.like(number, x), shape=(3, 3)))
    if step == "cast":
        return b("cast", b("cast", x, dtype=draw(st.sampled_from(("f64", "bf16")))), dtype="f32")
    return b(step, x, axes=(1,)) if step == "flip" else b(step, b("tanh", x))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_rules_change_no_value(data) -> None:
    choices: list = []

    class Record:
        def __init__(self) -> None:
            self.at = 0

        def __call__(self, strategy):
            if self.at == len(choices):
                choices.append(data.draw(strategy))
            self.at += 1
            return choices[self.at - 1]

    found = []
    for rule in (None, local_rule):
        draw, b = Record(), Builder(OPERATIONS, rule=rule)
        known = [b.input(n, "batch", "f32", (3, 3)) for n in "xy"]
        for _ in range(draw(st.integers(1, 7))):
            x, y = (known[draw(st.integers(0, 1)) - 2] for _ in range(2))
            known.append(_make(draw, b, x, y, draw(st.sampled_from(_STEPS))))
        b.graph.results["out"] = known[-1]
        values = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3)
        found.append(run(b.graph, {"x": values, "y": values.T[::-1]}, OPERATIONS)["out"])
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["i32", "f32"])
def test_a_slice_of_an_iota_is_made_of_a_shorter_one(axis: int, dtype: str) -> None:
    bounds = {"starts": (1, 2), "stops": (4, 7), "steps": (2, 3)}
    b = Builder(OPERATIONS, rule=local_rule)
    found = b("slice", b("iota", dtype=dtype, shape=(5, 8), axis=axis), **bounds)
    b.graph.results = {"x": found}
    assert "slice" not in {n.operation for n in b.graph.nodes}
    whole = np.broadcast_to(np.arange(5)[:, None] if axis == 0 else np.arange(8), (5, 8))
    assert (run(b.graph, {}, OPERATIONS)["x"] == whole[1:4:2, 2:7:3]).all()
