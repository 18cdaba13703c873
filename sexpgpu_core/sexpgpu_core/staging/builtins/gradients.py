"""`grad`, `value-and-grad`, `custom-gradient`: gradients as values of the graph (R46).

The traced graph is differentiated where the call stands, so gradients can be differentiated again.
"""

from __future__ import annotations

from ...autodiff import GradientBuilder, differentiate
from ...autodiff.reverse import dependents
from ...diagnostics import problem
from ...evaluator import machine
from ...evaluator.designators import function_of
from ...evaluator.values import Function, MultipleValues, Value, first_value
from ...ir.graph import Value as Node
from ...ir.hash import graph_hash
from ...ir.types import FLOATS
from ..faults import describe
from ..host import tracer
from ..promote import node_of
from ..regions import Region
from ..table import tensor_builtin
from ..tracer import Tracer


@tensor_builtin("grad", "(scalar x &rest more)")
def grad(scalar: Value, x: Value, *more: Value) -> Value:
    """The gradients of a scalar with respect to tensors that it was computed from, one value an x,
    of its shape; they may be differentiated again. Per example: of the sum. F.

    (grad (sum (square x)) x)"""
    return _values(tracer("grad"), _gradients("grad", scalar, (x, *more)))


@tensor_builtin("value-and-grad", "(fn x &rest more)")
def value_and_grad(fn: Value, x: Value, *more: Value) -> Value:
    """fn of the tensors, a scalar, then its gradients with respect to each. F.

    (value-and-grad (lambda (v) (sum (square v))) x)"""
    t = tracer("value-and-grad")
    value = first_value(called("value-and-grad", fn, (x, *more)))
    return MultipleValues((value, *map(t.tensor, _gradients("value-and-grad", value, (x, *more)))))


def _values(t: Tracer, nodes: list[Node]) -> Value:
    """One value, or several."""
    made = tuple(map(t.tensor, nodes))
    return made[0] if len(made) == 1 else MultipleValues(made)


def called(name: str, fn: Value, arguments: tuple[Value, ...]) -> Value:
    """A function that a builtin was handed, called; E-CALL-ARGUMENTS names it and its list.
    What the builtin makes of the values stands where the builtin is called, not the last call."""
    function: Function = function_of(fn)
    count = len(arguments)
    if count < function.least or (function.most is not None and count > function.most):
        raise problem(
            "E-CALL-ARGUMENTS",
            f"{name} calls its function with {count} argument{'s' if count != 1 else ''}, "
            f"and it takes {function.lambda_list or '()'}",
            lambda_list=function.lambda_list,
        ).locate(function.span)
    at = machine.current()
    form = at.call_form
    found: Value = function.call(*arguments)
    at.call_form = form
    return found


def _gradients(name: str, scalar: Value, xs: tuple[Value, ...]) -> list[Node]:
    t = tracer(name)
    loss = _loss(name, scalar, t)
    wanted = [_floating(name, x, t) for x in xs]
    graph = t.builder.graph
    for x, node in zip(xs, wanted):
        if loss.node.id not in dependents(graph.nodes, {node.node.id}):
            raise problem(
                "E-GRAD-UNREACHED",
                f"{name} with respect to {describe(x)}, which the scalar was not computed from",
                hint="pass the very tensor that enters the computation, not one made of it",
            )
    b = GradientBuilder(t.builder.operations, graph, beside=t.builder)
    by_name = {str(i): node for i, node in enumerate(wanted)}
    found = differentiate(graph, b.operations, loss, by_name, builder=b)
    return [
        t.builder.constant(0, *node.type) if g is None else g
        for node, g in zip(wanted, (found[n] for n in by_name))
    ]


def _loss(name: str, scalar: Value, t: Tracer) -> Node:
    loss = node_of(name, scalar, t)
    if loss.shape != ():
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"{name} of {describe(scalar)}, wants a scalar",
            hint=f"reduce it first: ({name} (sum u) x) gives the gradient of each example",
        )
    if loss.dtype not in FLOATS:
        raise problem("E-DTYPE-ARGUMENT", f"{name} of {describe(scalar)}, wants a float")
    return loss


def _floating(name: str, x: Value, t: Tracer) -> Node:
    node = node_of(name, x, t)
    if node.dtype not in FLOATS:
        raise problem(
            "E-DTYPE-ARGUMENT",
            f"{name} with respect to {describe(x)}: it takes floats",
            dtype=node.dtype,
        )
    return node


@tensor_builtin("custom-gradient", "(forward backward x &rest more)")
def custom_gradient(forward: Value, backward: Value, x: Value, *more: Value) -> Value:
    """forward of the tensors, with a gradient that backward gives: it is called with the tensors,
    forward's values and their cotangents, and returns a value an x. What the functions use besides
    gets no gradient through this. F.

    (custom-gradient #'round (lambda (x y dy) dy) x)"""
    t = tracer("custom-gradient")
    nodes = [node_of("custom-gradient", v, t) for v in (x, *more)]
    made = called("custom-gradient", forward, tuple(map(t.tensor, nodes)))
    values = made if made.__class__ is MultipleValues else (made,)
    outs = [node_of("custom-gradient", v, t) for v in values]
    with t.inside("custom-gradient") as region:
        _backward(t, region, backward, nodes, outs)
    body = region.builder.graph
    names = [*_names("y", outs), *_names("x", nodes), *region.captures]
    given = (*outs, *nodes, *region.captures.values())
    key = graph_hash(body, t.builder.operations)
    t.builder.graph.bodies[key] = body
    found = t.builder.several(
        "custom-gradient", *given, body=key, inputs=tuple(names), values=len(outs)
    )
    return _values(t, list(found))


def _names(kind: str, nodes: list[Node]) -> list[str]:
    return [f"{kind}:{i}" for i in range(len(nodes))]


def _backward(
    t: Tracer, region: Region, backward: Value, nodes: list[Node], outs: list[Node]
) -> None:
    """Traces the backward function; its results are "x:I"."""
    b = region.builder
    arguments = [
        t.tensor(b.input(f"{kind}:{i}", "body", *v.type))
        for kind, values in (("x", nodes), ("y", outs), ("cotangent", outs))
        for i, v in enumerate(values)
    ]
    made = called("custom-gradient", backward, tuple(arguments))
    values = made if made.__class__ is MultipleValues else (made,)
    if len(values) != len(nodes):
        raise problem(
            "E-CONTRACT",
            f"the backward function of custom-gradient returns {len(values)} values, "
            f"wants {len(nodes)}: one an x",
            hint="(values dx dy)",
        ).locate(function_of(backward).span)
    for i, (value, x) in enumerate(zip(values, nodes)):
        g = node_of("custom-gradient", value, t)
        if g.type != x.type:
            raise problem(
                "E-CONTRACT",
                f"the backward function of custom-gradient returns {describe(value)} "
                f"for value {i}, wants {x.type} as x is",
            ).locate(function_of(backward).span)
        if x.dtype in FLOATS:
            b.graph.results[f"x:{i}"] = g
