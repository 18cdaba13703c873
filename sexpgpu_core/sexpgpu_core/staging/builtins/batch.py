"""The batch as a value, `losses`, `(batch-rows)`, and `over-pass`: a tensor of the batch for all
examples of a pass (R22), of which `compile.gathering` makes a program of its own."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import Staged, Symbol, Value
from ..dependence import NONE
from ..faults import describe
from ..host import tracer
from ..promote import node_of
from ..table import tensor_builtin
from ..tensor import Handle, Tensor, is_tensor


class Named(Staged):
    """Tensors by name: what `prepare` returns, or the losses of an objective."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: dict[str, Tensor | Handle]) -> None:
        self.kind = kind
        self.items = items

    def generic(self, name: str, arguments: tuple[Value, ...]) -> Value:
        raise problem("E-TYPE", f"{name} takes no {self.kind}", wanted="a tensor")

    def refuse(self, place: str) -> Exception:
        return problem("E-TYPE", f"a {self.kind} stands where {place} needs a value")

    def describe(self) -> str:
        inside = " ".join(f":{k} {v.describe()}" for k, v in self.items.items())
        return f"#<{self.kind} {inside}>"

    def type_name(self) -> str:
        return self.kind


def _named(kind: str, arguments: tuple[Value, ...]) -> Named:
    if len(arguments) % 2 or not arguments:
        raise problem("E-CALL-ARGUMENTS", f"{kind} takes names and tensors: ({kind} :x x)")
    found: dict[str, Tensor | Handle] = {}
    for key, value in zip(arguments[::2], arguments[1::2]):
        if key.__class__ is not Symbol or not key.keyword:
            raise problem("E-CALL-KEYWORD", f"{kind}: {describe(key)} is no keyword")
        if not is_tensor(value):
            raise problem(
                "E-STAGE-VALUE", f"{kind}: :{key.name.lower()} is {describe(value)}, wants a tensor"
            )
        if key.name.lower() in found:
            raise problem("E-TWICE", f":{key.name.lower()} of {kind} stands twice")
        found[key.name.lower()] = value
    return Named(kind, found)


@tensor_builtin("batch", "(&rest name-and-tensor)")
def batch(*arguments: Value) -> Named:
    """Names to tensors, from prepare and outputs. (batch :inputs x :targets y)"""
    return _named("batch", arguments)


@tensor_builtin("losses", "(&rest name-and-scalar)")
def losses(*arguments: Value) -> Named:
    """Several losses by name, from objective (R33). (losses :critic c :generator g)"""
    return _named("losses", arguments)


@tensor_builtin("batch-rows", "()")
def batch_rows() -> int:
    """b, the rows of the batch that this trace sees; where there is no operand (R47).

    (batch-rows)"""
    t = tracer("batch-rows")
    if t.rows is None:
        raise problem("E-STAGE-OUTSIDE", "batch-rows: there is no batch here")
    return t.rows


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
