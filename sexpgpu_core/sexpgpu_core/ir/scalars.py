"""Step scalars as data: expressions over `(ctx :key)` that the host evaluates before each launch.

A tree is a number, ("ctx", key) or (operator, tree...). `text(tree)` is its canonical name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

Tree = Any

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": lambda *x: sum(x),
    "*": lambda *x: math.prod(x),
    "-": lambda x, *y: x - sum(y) if y else -x,
    "/": lambda x, *y: x / math.prod(y) if y else 1 / x,
    "min": min,
    "max": max,
    "abs": abs,
    "mod": lambda x, y: x % y,
    "floor": lambda x, y=1: math.floor(x / y) if isinstance(x / y, float) else x // y,
    "ceiling": lambda x, y=1: math.ceil(x / y),
    "round": lambda x, y=1: round(x / y),
    "truncate": lambda x, y=1: math.trunc(x / y),
    "exp": math.exp,
    "log": lambda x, b=None: math.log(x) if b is None else math.log(x, b),
    "sqrt": math.sqrt,
    "expt": lambda x, y: x**y,
    "cos": math.cos,
    "sin": math.sin,
    "tanh": math.tanh,
    "where": lambda c, x, y: x if c else y,
    "=": lambda x, y: x == y,
    "/=": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}
OPERATORS = frozenset(_FUNCTIONS)


def evaluate(tree: Tree, context: Mapping[str, float]) -> float:
    """The value of a tree; `context` maps keys without a colon ("step") to numbers.

    `where` is lazy, so the branch not taken may divide by zero. Raises KeyError for a key that is
    not there, ArithmeticError or ValueError where the expression has no value.
    """
    if not isinstance(tree, tuple):
        return float(tree) if isinstance(tree, Fraction) else tree
    head = tree[0]
    if head == "ctx":
        return context[tree[1]]
    if head == "where":
        return evaluate(tree[2] if evaluate(tree[1], context) else tree[3], context)
    result = _FUNCTIONS[head](*(evaluate(t, context) for t in tree[1:]))
    return float(result) if isinstance(result, Fraction) else result


def keys(tree: Tree) -> set[str]:
    """The ctx keys that a tree reads."""
    if not isinstance(tree, tuple):
        return set()
    if tree[0] == "ctx":
        return {tree[1]}
    return set().union(*(keys(t) for t in tree[1:]))


def text(tree: Tree) -> str:
    """Canonical text, which is also the name of the scalar in graphs and plans."""
    if not isinstance(tree, tuple):
        return str(tree) if isinstance(tree, (int, Fraction)) else repr(tree)
    if tree[0] == "ctx":
        return f"(ctx :{tree[1]})"
    return "(" + " ".join([tree[0], *map(text, tree[1:])]) + ")"
