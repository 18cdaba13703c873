"""A ball: a center in f64 and how far the exact value may be from it, an element; references in
f64."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.ir import Node
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import FLOATS, Type, numpy_dtype

UNIT = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
"""Half the space between 1 and the next number."""
TINY = {"f64": 1e-300, "f32": 2.0**-125, "f16": 2.0**-24, "bf16": 2.0**-125}
"""What is lost below the normal numbers."""
HIGHEST = {"f64": 1.7e308, "f32": 3.4e38, "f16": 65504.0, "bf16": 3.38e38}
UNKNOWN = np.inf


class Ball(NamedTuple):
    center: Any
    radius: Any  # f64 of the center's shape; of bools and integers 0 or infinite


def exact(center: Any) -> Ball:
    return Ball(center, np.zeros(center.shape))


def unknown(center: Any) -> Ball:
    return Ball(center, np.full(center.shape, UNKNOWN))


def wide(type: Type) -> Type:
    return type._replace(dtype="f64") if type.dtype in FLOATS else type


def apply(node: Node, arrays: list[Any], **attributes: Any) -> tuple[Any, ...]:
    """The operation's reference, every float as f64."""
    types = tuple(wide(t) for t in node.types)
    given = {**dict(node.attributes), **attributes}
    if node.operation == "bitcast":
        arrays = [arrays[0].astype(numpy_dtype(node.operands[0].dtype))]
        found = OPERATIONS["bitcast"].reference(tuple(arrays), given, node.types)
        return tuple(np.asarray(f) for f in found)
    found = OPERATIONS[node.operation].reference(tuple(arrays), given, types)
    return tuple(np.asarray(f) for f in found)


def unit(node: Node, roundings: float, result: int = 0) -> float:
    """Relative error of roundings in f32 (or f64) and one to the result's own dtype."""
    dtype = node.types[result].dtype
    if dtype not in FLOATS:
        return 0.0
    inner = 2 * UNIT["f64"] if dtype == "f64" else UNIT["f32"]  # the center is rounded, too
    last = UNIT[dtype] if dtype in ("f16", "bf16") and roundings else 0.0
    return roundings * inner + last


def apart(x: Any, y: Any) -> Any:
    """How far two values of a result are from each other; 0 where both are the same special one."""
    if x.dtype.kind not in "f":
        return np.where(x != y, UNKNOWN, 0.0)
    same = (np.isnan(x) & np.isnan(y)) | (x == y)
    found = np.where(same, 0.0, np.abs(x - y))
    return np.where(np.isnan(found), UNKNOWN, found)
