"""`(operation name x... :attribute value...)`: a node of an operation that a plug-in registered.

A module of the distribution wraps it under a plain name, so that a file says what it depends on.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...diagnostics import nearest, problem
from ...evaluator.builtins.listing import proper
from ...evaluator.values import (
    NIL,
    Cons,
    MultipleValues,
    Ratio,
    String,
    Symbol,
    T,
    Value,
)
from ..faults import describe
from ..host import tracer
from ..promote import node_of
from ..table import tensor_builtin


@tensor_builtin("operation", "(name &rest x)")
def operation(name: Value, *x: Value) -> Value:
    """An operation of an installed distribution, over tensors up to the first keyword, then its
    attributes. Dtypes and shapes by its own rule. (operation "toy/softsign" x)"""
    t = tracer("operation")
    found = _known(name, t.builder.operations)
    split = next((i for i, v in enumerate(x) if _is_keyword(v)), len(x))
    operands = tuple(node_of(found, v, t) for v in x[:split])
    attributes = _attributes(found, x[split:])
    results = [t.tensor(v) for v in t.builder.several(found, *operands, **attributes)]
    return results[0] if len(results) == 1 else MultipleValues(results)


def _known(name: Value, known: Any) -> str:
    if not isinstance(name, String):
        raise problem("E-TYPE", f"operation wants a name as a string, not {describe(name)}")
    text = name.text()
    try:
        known[text]
    except KeyError:
        near = nearest(text, known)
        hint = f"did you mean {near}?" if near else "install the distribution that registers it"
        raise problem(
            "E-NAME-FUNCTION", f"no operation is named {text}", hint=hint, name=text
        ) from None
    return text


def _is_keyword(value: Value) -> bool:
    return isinstance(value, Symbol) and value.keyword


def _attributes(name: str, pairs: tuple[Value, ...]) -> dict[str, Any]:
    if len(pairs) % 2 or not all(map(_is_keyword, pairs[::2])):
        raise problem("E-CALL-ARGUMENTS", f"{name}: attributes are keywords with values")
    return {k.name.lower(): _attribute(name, v) for k, v in zip(pairs[::2], pairs[1::2])}


def _attribute(name: str, value: Value) -> Any:
    """A Lisp value as an attribute: hashable, printable."""
    if value is T or value is NIL:
        return value is T
    if value.__class__ in (int, float):
        return value
    if isinstance(value, Ratio):
        return Fraction(value.numerator, value.denominator)
    if isinstance(value, String):
        return value.text()
    if isinstance(value, Symbol):
        return value.name.lower()
    if value.__class__ is Cons:
        return tuple(_attribute(name, v) for v in proper(name, value))
    raise problem("E-TYPE", f"{name}: {describe(value)} is no attribute")
