"""The batch as a value, `losses`, and `(batch-rows)`."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import Staged, Symbol, Value
from ..faults import describe
from ..host import tracer
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
    if len(arguments) % 2:
        raise problem("E-CALL-ARGUMENTS", f"{kind} takes names and tensors: ({kind} :x x)")
    found: dict[str, Tensor | Handle] = {}
    for key, value in zip(arguments[::2], arguments[1::2]):
        if key.__class__ is not Symbol or not key.keyword:
            raise problem("E-CALL-KEYWORD", f"{kind}: {describe(key)} is no keyword")
        if not is_tensor(value):
            raise problem(
                "E-STAGE-VALUE", f"{kind}: :{key.name.lower()} is {describe(value)}, wants a tensor"
            )
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
