"""Generic functions of the standard: rows of methods written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..classes import CLASSES, TOP
from ..definitions import BUILTINS, CORE_SYMBOLS, core_symbol
from ..values import Value
from .generic_functions import StandardGeneric
from .methods import Shape, native_method


def standard_generic(
    name: str, lambda_list: str, *specializers: str
) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Define a method of the generic function NAME, for classes of its first parameters (lower
    case). `lambda_list` is required parameters and perhaps one more, &optional or &rest; as
    initargs that is all keywords. The docstring of the first method is the generic function's.
    """
    words = lambda_list.strip("()").split()
    required = len(words) if "&" not in lambda_list else len(words) - 2
    rest, keys = "&rest" in words, () if "initargs" in words else None
    shape = Shape(required, "&optional" in words, rest, keys, keys is not None)
    named = [CLASSES[CORE_SYMBOLS[s.upper()]] for s in specializers]
    classes = (*named, *[TOP] * (required - len(named)))

    def define(implementation: Callable[..., Value]) -> Callable[..., Value]:
        found: Any = BUILTINS.get(name.upper())
        if found is None:
            doc = (implementation.__doc__ or "").strip()
            found = StandardGeneric(core_symbol(name.upper()), shape, lambda_list, doc)
            BUILTINS[name.upper()] = found
        method = native_method(classes, shape, implementation)
        method.lambda_list = lambda_list
        found.rows.append(method)
        return implementation

    return define
