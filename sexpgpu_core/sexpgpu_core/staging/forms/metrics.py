"""`metric`: what a file reports."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator import machine
from ...evaluator.builtins.listing import proper
from ...evaluator.values import NIL, Cons, String, Symbol, Value
from ...ir.graph import Value as Node
from ...ir.types import broadcast
from ..faults import describe
from ..host import tracer
from ..metrics import Reported
from ..origins import called_from_file
from ..promote import node_of, operands
from ..table import tensor_builtin

REDUCTIONS = ("mean", "sum", "max", "min")


@tensor_builtin("metric", "(name x &key (reduce :mean) weights unit by names)")
def metric(
    name: Value,
    x: Value,
    *,
    reduce: Value = None,
    weights: Value = NIL,
    unit: Value = NIL,
    by: Value = NIL,
    names: Value = NIL,
) -> Value:
    """Reports x under a name and returns it; a tensor with axes is reduced over all (R23). N, B.

    (metric "loss" (nn:cross-entropy (gpt inputs) targets))"""
    t = tracer("metric")
    _check_name(name)
    if t.part == "prepare":
        raise problem("E-STAGE-OUTSIDE", "metric stands in prepare", hint="report in objective")
    t.in_step("metric")
    kind = "mean"
    if reduce is not None:
        kind = reduce.name.lower() if reduce.__class__ is Symbol else ""
        if kind not in REDUCTIONS:
            raise problem(
                "E-METRIC",
                f":reduce of metric {describe(name)} is {describe(reduce)}",
                hint=":mean, :sum, :max or :min",
            )
    _, (node,) = operands("metric", (x,))  # a number or a step scalar is reported as it is
    weight = None
    if kind != "mean" and (weights is not NIL or by is not NIL):
        what = "weights" if weights is not NIL else "values of an index"
        raise problem("E-METRIC", f"{what} are those of a mean", hint="leave :reduce out")
    if weights is not NIL:
        weight = node_of("metric", weights, t)
        _fit("weights", weight, node)
    if unit is not NIL and not isinstance(unit, String):
        raise problem("E-METRIC", f":unit is {describe(unit)}, no text", hint=':unit "nats"')
    if names is not NIL and by is NIL:
        raise problem("E-METRIC", ":names without :by", hint=":by label :names 10")
    text = unit.text() if isinstance(unit, String) else None
    form = machine.current().call_form
    row = Reported(name.text(), node, kind, weight, text, called_from_file(), t.part, form)
    if by is not NIL:
        _by_index(row, by, names)
    else:
        t.metrics.append(row)
    return x


def _check_name(name: Value) -> None:
    """E-METRIC for what is no name of a series, or the name of one that is always there."""
    hint = '(metric "loss" x)'
    if not isinstance(name, String):
        told = f"the name of a metric is a string, not {describe(name)}"
        if isinstance(name, Symbol):
            hint = f'(metric "{name.name.lower()}" x)'
        raise problem("E-METRIC", told, hint=hint)
    if not name.text().strip():
        raise problem("E-METRIC", "the name of a metric is empty", hint=hint)
    if name.text() == "objective":
        told = 'what objective gives is reported as "objective": a metric has another name'
        raise problem("E-METRIC", told, hint=hint)


def _fit(what: str, given: Node, node: Node) -> None:
    """E-METRIC where :weights or :by cannot be laid beside what is reported."""
    if broadcast(given.shape, node.shape) is None:
        told = f":{what} is {given.type}, and what is reported {node.type}"
        raise problem("E-METRIC", told, hint="one for each element that is reported")


def _by_index(row: Reported, by: Value, names: Value) -> None:
    """One mean for each value of an index: name/0, name/1, ..."""
    t = tracer("metric")
    if names.__class__ is int:
        labels = [str(i) for i in range(names)]
    elif names.__class__ is Cons:
        labels = [
            n.text() if isinstance(n, String) else describe(n) for n in proper("metric", names)
        ]
    else:
        labels = []
    if not labels or len(set(labels)) < len(labels):
        told = ":by wants :names, a count or a list of names that differ"
        raise problem("E-METRIC", told, hint=":by label :names 10")
    index = node_of("metric", by, t)
    if not row.node.shape:
        told = f":by takes one number an example, and what is reported is {row.node.type}"
        raise problem("E-METRIC", told, hint="report it before its mean is taken")
    _fit("by", index, row.node)
    for i, label in enumerate(labels):
        number = t.builder.constant(i, index.dtype)
        hit = t.builder("cast", t.builder("equal", index, number), dtype="f32")
        both = hit if row.weights is None else t.builder("multiply", hit, row.weights)
        t.metrics.append(row._replace(name=f"{row.name}/{label}", weights=both))
