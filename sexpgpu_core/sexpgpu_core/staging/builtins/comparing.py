"""Comparisons, `where` and the logical builtins."""

from __future__ import annotations

from itertools import pairwise

from ...diagnostics import problem
from ...evaluator.values import NIL, T, Value
from ...ir.graph import Value as Node
from ..faults import describe
from ..host import tracer
from ..promote import check_outer, elementwise, node_of, operands
from ..table import tensor_builtin
from ..tensor import StepScalar, Tensor, is_tensor, tree_of
from ..tracer import Tracer

COMPARISONS = {
    "=": ("equal", "equal"),
    "/=": ("not-equal", "unlike"),
    "<": ("less", "ascending"),
    "<=": ("less-equal", "not descending"),
    ">": ("greater", "descending"),
    ">=": ("greater-equal", "not ascending"),
}


def compare(name: str, x: Value, y: Value) -> Value:
    """One comparison: a tree, or a node of bool."""
    if not is_tensor(x) and not is_tensor(y):
        return StepScalar((name, tree_of(x), tree_of(y)))
    t, nodes = operands(name, (x, y), by_value=True)
    check_outer(t, name, lambda *again: compare(name, *again), (x, y), nodes)
    return t.tensor(t.builder(COMPARISONS[name][0], *nodes))


def _define_comparison(name: str, says: str) -> None:
    def call(x: Value, *y: Value) -> Value:
        if not y or (name == "/=" and len(y) > 1):
            raise problem("E-CALL-ARGUMENTS", f"{name} of a tensor takes two operands")
        result: Value = compare(name, x, y[0])
        for left, right in pairwise(y):
            result = elementwise(name, "logical-and", (result, compare(name, left, right)))
        return result

    call.__doc__ = (
        f"True where the operands are {says}; with three, where both hold. A, broadcast; bool. "
        f"Integers of unlike dtype compare by value. ({name} x y)"
    )
    tensor_builtin(name, "(x &rest y)")(call)


for _name, (_, _says) in COMPARISONS.items():
    _define_comparison(_name, _says)


@tensor_builtin("where", "(test x y)")
def where(test: Value, x: Value, y: Value) -> Value:
    """x where test is true, else y; the side not taken has gradient 0. Test bool; A, broadcast.

    (where (> x 0) x 0.0)"""
    if test is NIL or test is T:
        return y if test is NIL else x
    staged = is_tensor(x) or is_tensor(y)
    if test.__class__ is StepScalar and not staged:
        return StepScalar(("where", test.tree, tree_of(x), tree_of(y)))
    t, nodes = operands("where", (x, y))
    if test.__class__ is StepScalar and test.is_test:
        condition = t.scalar(test, "bool")
    else:
        condition = node_of("where", test, t)
    if condition.dtype != "bool":
        raise problem(
            "E-DTYPE-ARGUMENT",
            f"the test of where is {describe(test)}, wants bool",
            hint="compare first: (where (> x 0) a b), (where (/= mask 0) a b)",
        )
    for node in nodes:
        check_outer(t, "where", where, (test, x, y), (condition, node))
    return t.tensor(t.builder("where", condition, *nodes))


def _test(name: str, value: Value, t: Tracer) -> Node:
    """An operand that is a bool tensor."""
    node = node_of(name, value, t)
    if node.dtype != "bool":
        raise problem(
            "E-DTYPE-ARGUMENT",
            f"{name} takes bool, not {describe(value)}",
            hint="compare first: (> x 0), (/= x 0)",
        )
    return node


def _define_logical(name: str, says: str, rest: str) -> None:
    def call(x: Value, *y: Value) -> Value:
        t = tracer(name)
        result, *rest = (_test(name, v, t) for v in (x, *y))
        for other in rest:
            result = t.builder(name, result, other)
        return t.tensor(result)

    call.__doc__ = f"{says}. bool, operands broadcast, gradient 0. ({name} x y)"
    tensor_builtin(name, f"(x {rest})")(call)


_define_logical("logical-and", "True where all operands are", "&rest y")
_define_logical("logical-or", "True where an operand is", "&rest y")
_define_logical("logical-xor", "True where one of two is", "y")


def _define_predicate(name: str, says: str) -> None:
    def call(x: Value) -> Tensor:
        t = tracer(name)
        return t.tensor(t.builder(name, node_of(name, x, t)))

    call.__doc__ = f"True where x is {says}. Shape of x, bool, gradient 0. ({name} x)"
    tensor_builtin(name, "(x)")(call)


for _name, _says in {
    "logical-not": "false; x is bool",
    "is-nan": "not a number; x is F",
    "is-inf": "infinite; x is F",
    "is-finite": "neither infinite nor NaN; x is F",
}.items():
    _define_predicate(_name, _says)


@tensor_builtin("is-close", "(x y &key (relative 1e-5) (absolute 1e-8))")
def is_close(x: Value, y: Value, *, relative: Value = 1e-5, absolute: Value = 1e-8) -> Tensor:
    """True where |x - y| <= absolute + relative |y|. F, broadcast; bool. (is-close x y)"""
    from .arithmetic import pair

    t, (a, c) = operands("is-close", (x, y))
    distance = t.tensor(t.builder("abs", t.builder("subtract", a, c)))
    size = t.tensor(t.builder("abs", c))
    found = compare("<=", distance, pair("+", pair("*", relative, size), absolute))
    assert isinstance(found, Tensor)
    return found
