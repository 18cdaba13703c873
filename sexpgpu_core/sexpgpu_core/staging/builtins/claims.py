"""Claims about values, which the compiler proves or refuses: `causal`."""

from __future__ import annotations

from ...diagnostics import Problem, problem
from ...evaluator import machine
from ...evaluator.values import Value
from ..arguments import axis as axis_of
from ..host import tracer
from ..promote import node_of
from ..table import tensor_builtin


@tensor_builtin("causal", "(y x &key (axis 1))")
def causal(y: Value, x: Value, *, axis: Value = 1) -> Value:
    """y, of which it is claimed that at position t of the axis it depends on x up to t: E-CAUSAL
    names the operation that breaks it. A. (causal logits tokens)"""
    from ..causality import check_causal

    t = tracer("causal")
    nodes = node_of("causal", y, t), node_of("causal", x, t)
    at = [axis_of("causal", axis, len(n.shape)) for n in nodes]
    if at[0] != at[1] or nodes[0].shape[at[0]] != nodes[1].shape[at[1]]:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"causal of {nodes[0].type} and {nodes[1].type}: axis {at[0]} has unlike positions",
            hint="positions are one axis of both, of one size: (causal logits tokens :axis 1)",
        )
    found = check_causal(t, *nodes, at[0])
    if found is not None:
        raise Problem(found)
    claim = machine.current().call_span
    line = f", line {claim.line}" if claim is not None else ""
    told = f"{nodes[0].type} sees {nodes[1].type} up to its own position{line}"
    if told not in t.proved:
        t.proved.append(told)
    return y
