"""How tensor builtins get into the language: one decorator, one row each.

A name that is the standard's goes into the table of generic calls only; any other is a builtin
that a file may shadow (`definitions.TENSOR_NAMES`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..diagnostics import Problem
from ..evaluator.definitions import BUILTINS, TENSOR_NAMES, builtin, core_symbol
from ..evaluator.values import Function, Value
from .tensor import GENERIC

STANDARD = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "1+",
        "1-",
        "min",
        "max",
        "abs",
        "signum",
        "sqrt",
        "expt",
        "floor",
        "ceiling",
        "truncate",
        "round",
        "mod",
        "rem",
        "exp",
        "log",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "=",
        "/=",
        "<",
        "<=",
        ">",
        ">=",
        "logand",
        "logior",
        "logxor",
        "lognot",
        "ash",
        "sort",
    ]
)
"""Names of the standard that LANG's builtins hand over when an operand is staged."""

ALIASED = frozenset(
    [
        "attention",
        "layer-norm",
        "rms-norm",
        "group-norm",
        "cross-entropy",
        "binary-cross-entropy",
        "conv",
        "conv-transpose",
    ]
)
"""Names that a module of layers takes for its own: they are also `%NAME`, for its use."""

Implementation = TypeVar("Implementation", bound=Callable[..., Value])


def tensor_builtin(name: str, lambda_list: str) -> Callable[[Implementation], Implementation]:
    """Define NAME on tensors. Parameters and docstring as for `definitions.builtin`."""

    def define(implementation: Implementation) -> Implementation:
        GENERIC[name] = _function(name, lambda_list, _taught(name, implementation))
        return implementation

    return define


def _taught(name: str, implementation: Callable[..., Value]) -> Callable[..., Value]:
    """The implementation, whose mistakes about shapes and dtypes say where operands come from and
    what would mend them (`teaching`)."""

    def call(*arguments: Value, **options: Value) -> Value:
        try:
            return implementation(*arguments, **options)
        except Problem as error:
            if not error.diagnostic.code.startswith(TAUGHT):
                raise
            from .teaching import taught

            raise taught(error, name, implementation, arguments, options) from None

    call.__doc__, call.__module__ = implementation.__doc__, implementation.__module__
    return call


TAUGHT = ("E-SHAPE-", "E-DTYPE-")
"""How the codes begin of mistakes about shapes and dtypes."""


def _function(name: str, lambda_list: str, implementation: Callable[..., Value]) -> Function:
    upper = name.upper()
    if name in STANDARD:  # made under a name of its own, then taken out again
        builtin("%" + name, lambda_list, staged=True)(implementation)
        made = BUILTINS.pop("%" + upper)
        return Function(name, made.call, lambda_list, made.least, made.most, made.doc, staged=True)
    builtin(name, lambda_list, staged=True)(implementation)
    TENSOR_NAMES.add(upper)
    if name in ALIASED:
        core_symbol("%" + upper)
        BUILTINS["%" + upper] = BUILTINS[upper]
    return BUILTINS[upper]
