"""NumPy references, a module a family: what an operation means, computed in the graph's dtype.

16-bit floats are widened to f32, computed, and rounded once at the end (30, "Precision").
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...operation import Attributes
from ...types import Type, numpy_dtype

if TYPE_CHECKING:
    from ..op import Op

Reference = Callable[[list[Any], Attributes, tuple[Type, ...]], Any]
"""(arrays, attributes, result types) -> an array, or a tuple of them for several results."""

_NARROW = ("bfloat16", "float16")


def evaluate(
    op: Op, operands: tuple[Any, ...], attributes: Attributes, types: tuple[Type, ...]
) -> tuple[Any, ...]:
    """Arrays of `types`. NotImplementedError where only the operation's expansion says it."""
    function: Reference | None = _table(op.family).get(op.name)
    if function is None:
        raise NotImplementedError(op.name)
    arrays = [np.asarray(a) for a in operands]
    if not op.raw:
        arrays = [a.astype(np.float32) if a.dtype.name in _NARROW else a for a in arrays]
    with np.errstate(all="ignore"):
        found = function(arrays, attributes, types)
        results = found if isinstance(found, tuple) else (found,)
        return tuple(
            np.ascontiguousarray(np.asarray(r).astype(numpy_dtype(t.dtype), copy=False))
            if t.shape
            else np.asarray(r).astype(numpy_dtype(t.dtype), copy=False)
            for r, t in zip(results, types)
        )


def _table(family: str) -> dict[str, Reference]:
    """The references of a family; "" is the composites', which have none."""
    table: dict[str, Reference] = import_module(f".{family}", __name__).TABLE if family else {}
    return table
