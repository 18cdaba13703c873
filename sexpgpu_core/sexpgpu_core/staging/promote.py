"""Operands of a tensor builtin to nodes of one dtype (45.8, 45.23, R50).

A number or step scalar takes the tensors' dtype; two tensors of unlike dtype are E-DTYPE-MIX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..diagnostics import problem
from ..evaluator.values import NIL, Cons, Function, Staged, Value
from ..ir.graph import Value as Node
from ..ir.types import INTEGERS, Type, broadcast
from .exact import default_dtype, is_number, round_to
from .faults import describe, mixed
from .host import tracer
from .regions import TRIAL
from .tensor import StepScalar, Tensor, is_tensor
from .tracer import Tracer


def node_of(name: str, value: Value, t: Tracer | None = None) -> Node:
    """The node of one operand that must be a tensor; E-STAGE-VALUE for anything else."""
    t = t or tracer(name)
    if is_tensor(value):
        return t.node(value)
    raise not_a_tensor(name, value)


def optional_node(name: str, value: Value, t: Tracer) -> Node | None:
    """None for nil."""
    return None if value is NIL or value is None else node_of(name, value, t)


def not_a_tensor(name: str, value: Value) -> Exception:
    """E-STAGE-VALUE with what to write, by what it is instead."""
    what, hint = describe(value), None
    if is_number(value) or value.__class__ is StepScalar:
        hint = f"a number alone is no tensor: ({name} (tensor x)), or use the numbers' own function"
    elif value is NIL:
        hint = "nil came out of something that has no value there"
    elif value.__class__ is Cons and all(map(is_tensor, conses(value))):
        what = f"a list of tensors, {' and '.join(map(describe, conses(value)))}"
        hint = f"operands stand one after another, ({name} x y); (stack ...) or (concat ...) join"
    elif value.__class__ is Cons:
        hint = f"numbers become a tensor by (tensor '(1 2)): ({name} (tensor ...))"
    elif isinstance(value, Function) and name == "grad":
        hint = "(grad (f x) x) is of a scalar; (value-and-grad f x) of a function"
    elif isinstance(value, Function):
        hint = "a function is called: (f x)"
    return problem("E-STAGE-VALUE", f"{name} got {what}, wants a tensor", hint=hint, name=name)


def conses(value: Value) -> list[Value]:
    """The elements of a list, proper or not."""
    found = []
    while value.__class__ is Cons:
        found.append(value.car)
        value = value.cdr
    return found


def operands(
    name: str, values: tuple[Value, ...], *, dtype: str | None = None, by_value: bool = False
) -> tuple[Tracer, list[Node]]:
    """All operands as nodes of one dtype: the tensors', `dtype`, or f32 / i32 by the numbers.

    `by_value`: integers of unlike dtype are allowed and compared by value (R50).
    """
    t = tracer(name)
    nodes: list[Node | None] = [None] * len(values)
    common: str | None = dtype
    first: int | None = None
    for i, value in enumerate(values):
        if is_tensor(value):
            node = nodes[i] = t.node(value)
            if first is None and dtype is None:
                first, common = i, node.dtype
            elif node.dtype != common and not (
                by_value and node.dtype in INTEGERS and common in INTEGERS
            ):
                raise mixed(name, values)
        elif not is_number(value) and value.__class__ is not StepScalar:
            raise not_a_tensor(name, value)
    chosen = common or t.wide(_by_numbers(values))
    found = [_weak(t, v, chosen) if n is None else n for n, v in zip(nodes, values)]
    return t, found


def _by_numbers(values: tuple[Value, ...]) -> str:
    kinds = {default_dtype(v) for v in values if is_number(v)}
    has_step = any(v.__class__ is StepScalar for v in values)
    return "f32" if has_step or "f32" in kinds else "i32"


def _weak(t: Tracer, value: Value, dtype: str) -> Node:
    if value.__class__ is StepScalar:
        wanted = "bool" if value.is_test and dtype == "bool" else dtype
        return t.scalar(value, wanted)
    return t.builder.constant(round_to(value, dtype), dtype)


def elementwise(name: str, operation: str, values: tuple[Value, ...]) -> Tensor:
    """One elementwise node over promoted, broadcast operands."""
    t, nodes = operands(name, values)
    if len(nodes) == 2:
        check_outer(t, name, lambda *again: elementwise(name, operation, again), values, nodes)
    return t.tensor(t.builder(operation, *nodes))


def check_outer(
    t: Tracer,
    name: str,
    again: Callable[..., Value],
    values: tuple[Value, ...],
    nodes: Sequence[Node],
) -> None:
    """W-BROADCAST-OUTER where two operands of unlike rank both grow. In operands of one rank the
    axes of size 1 were written. `again` makes the call with other operands."""
    a, b = nodes[0].type, nodes[1].type
    if len(a.shape) == len(b.shape) or a.size <= 1 or b.size <= 1:
        return
    shape = broadcast(a.shape, b.shape)
    if shape is None:
        return
    found = Type(a.dtype, shape)
    if found.size > a.size and found.size > b.size:
        message = f"{name} of {a} and {b} gives {found}: both operands grow"
        if t.region.what == TRIAL:
            raise problem("W-BROADCAST-OUTER", message)
        from .teaching import warn_of

        warn_of(
            "W-BROADCAST-OUTER", message, name, again, values,
            hint="an axis of size 1 grows, and the other operand gets one in front; "
            "where that is meant, (unsqueeze x axis) says so",
        )  # fmt: skip


def integer(name: str, what: str, value: Value) -> int:
    """An ordinary integer argument."""
    if value.__class__ is int:
        return value  # type: ignore[no-any-return]
    if isinstance(value, Staged):
        raise value.refuse(f"the {what} of {name}")
    raise problem(
        "E-TYPE", f"{what} of {name} is an integer, not {describe(value)}", wanted="integer"
    )


def real(name: str, what: str, value: Value) -> float:
    """An ordinary number argument, as a double."""
    if is_number(value):
        return float(value)
    if isinstance(value, Staged):
        raise value.refuse(f"the {what} of {name}")
    raise problem("E-TYPE", f"{what} of {name} is a number, not {describe(value)}", wanted="number")
