"""`while-loop` and `cond-select`: what is computed is decided by the data."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.designators import function_of
from ...evaluator.values import NIL, MultipleValues, Value, first_value
from ...ir.graph import Graph
from ...ir.graph import Value as Node
from ...ir.ops import loops
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of
from ..regions import Region
from ..structure import Structure, leaves, put_together, structure_of
from ..table import tensor_builtin
from ..tensor import StepScalar
from ..tracer import Tracer
from .gradients import called
from .loops import next_carry, stacked


@tensor_builtin("while-loop", "(test fn carry &key limit)")
def while_loop(test: Value, fn: Value, carry: Value, *, limit: Value = NIL) -> Value:
    """fn of the carry again and again while test of it holds, a bool scalar; at most limit trips.
    The carry is a tensor or a list of such. No gradient. A.

    (while-loop (lambda (v) (< (sum v) 100)) (lambda (v) (* 2 v)) (exp x) :limit 50)"""
    t = tracer("while-loop")
    name = "while-loop"
    start = leaves(name, carry, t)
    shape = structure_of(name, carry)
    most = loops.FOREVER if limit is NIL else integer(name, "limit", limit)
    go = _tested(name, test, put_together(shape, start, t), t)
    around = t.region.axes()
    with t.inside(name) as region:
        b = region.builder
        carries = [b.input(f"carry:{i}", "body", *v.type) for i, v in enumerate(start)]
        region.batch.update({f"carry:{i}": around.of(v) for i, v in enumerate(start)})
        made = first_value(called(name, fn, (put_together(shape, carries, t),)))
        nexts = next_carry(name, fn, shape, start, made, t)
        on = _tested(name, test, put_together(shape, nexts, t), t)
        b.graph.results = {f"carry:{i}": v for i, v in enumerate([*nexts, on])}
    operands = {f"carry:{i}": v for i, v in enumerate([*start, go])}
    operands.update(region.captures)
    found = loops.repeat(t.builder, region.builder.graph, operands, most)
    return put_together(shape, list(found.values())[:-1], t)


def _tested(name: str, test: Value, carry: Value, t: Tracer) -> Node:
    found = first_value(called(name, test, (carry,)))
    node = node_of(name, found, t)
    if node.type != ("bool", ()):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"the test of {name} gives {describe(found)}, wants a bool scalar",
            hint="reduce it: (any test) or (all test)",
        ).locate(function_of(test).span)
    return node


@tensor_builtin("cond-select", "(test fn-a fn-b)")
def cond_select(test: Value, fn_a: Value, fn_b: Value) -> Value:
    """The values of one function or the other, of no arguments, by a bool scalar; both are traced
    and one is run. A. (cond-select (> (sum x) 0) (lambda () x) (lambda () (- x)))"""
    t = tracer("cond-select")
    chosen = _choosing(test, t)
    regions: list[Region] = []
    structures = []
    first = 0
    for fn in (fn_a, fn_b):
        with t.inside("cond-select", first) as region:
            made = called("cond-select", fn, ())
            several = made if made.__class__ is MultipleValues else (made,)
            nodes = [v for value in several for v in leaves("cond-select", value, t)]
            region.builder.graph.results = stacked(nodes, 0)
        structures.append([structure_of("cond-select", v) for v in several])
        regions.append(region)
        first += len(region.captures)
    yes, no = (r.builder.graph for r in regions)
    _alike(yes, no, structures)
    operands = {**regions[0].captures, **regions[1].captures}
    found = list(loops.choose(t.builder, chosen, yes, no, operands).values())
    values = []
    for structure in structures[0]:
        count = _count(structure)
        values.append(put_together(structure, found[:count], t))
        found = found[count:]
    return values[0] if len(values) == 1 else MultipleValues(tuple(values))


def _count(structure: Structure) -> int:
    if isinstance(structure, tuple):
        return sum(map(_count, structure))
    return 0 if structure is None else 1


def _choosing(test: Value, t: Tracer) -> Node:
    if test.__class__ is StepScalar and test.is_test:
        return t.scalar(test, "bool")
    node = node_of("cond-select", test, t)
    if node.type != ("bool", ()):
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"the test of cond-select is {describe(test)}, wants a bool scalar",
            hint="choose element by element with (where test x y)",
        )
    return node


def _alike(yes: Graph, no: Graph, structures: list[Any]) -> None:
    a, b = (", ".join(str(v.type) for v in g.results.values()) or "nothing" for g in (yes, no))
    if structures[0] != structures[1] or a != b:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"the functions of cond-select give {a} and {b}",
            hint="both give values of the same types: cast or reshape one of them",
        )
