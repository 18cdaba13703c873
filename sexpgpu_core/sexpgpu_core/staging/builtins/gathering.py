"""`over-pass`: a tensor of the batch to the same for all examples of a pass (R22).

The value for a batch is a result of the pass's program; what the file computes of the whole is
cut off by `compile.gathering`, as a program that runs once at the pass's end.
"""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import Value
from ..dependence import NONE
from ..faults import describe
from ..host import tracer
from ..promote import node_of
from ..table import tensor_builtin
from ..tensor import Tensor


@tensor_builtin("over-pass", "(x)")
def over_pass(x: Value) -> Tensor:
    """x for all examples of the pass: axis 0, the batch's, has as many rows as the pass has
    examples, in their order. For metrics that are no sums over examples; only in `evaluate`. N, F.

    (metric "auc" (nn:auc (over-pass score) (over-pass label)))"""
    t = tracer("over-pass")
    if t.part != "evaluate" or t.context.place != "E":
        raise problem(
            "E-STAGE-OUTSIDE",
            f"over-pass stands in {t.part}",
            hint="only (defun evaluate (&key ...) ...) and what it calls see a whole pass",
            name="over-pass",
        )
    t.in_step("over-pass")
    node = node_of("over-pass", x, t)
    if t.rows is None:  # data that is one thing is whole as it is
        return t.tensor(node)
    axis = t.root.axes(t.per_block).of(node)
    if axis != 0:
        why = "no example reaches it" if axis == NONE else "examples do not stand in its axis 0"
        raise problem(
            "E-METRIC",
            f"over-pass takes a tensor of the batch, and of {describe(x)} {why}",
            hint="give what has a row an example: (over-pass score)",
        )
    name = next((n for n, v in t.gathered.items() if v == node), f"over:{len(t.gathered)}")
    t.gathered[name] = node
    return t.tensor(
        t.builder.input(name, "over", node.dtype, (t.examples or t.rows, *node.shape[1:]))
    )
