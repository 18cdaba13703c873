"""Windows as numbers: the first words of the blocks of convolution and pooling."""

from __future__ import annotations

import math
from typing import Any

from sexpgpu_core.records import NamedTuple

AXES = 3
WORDS = 21


class Geometry(NamedTuple):
    """Three spatial axes, those that are missing in front with size 1. `read`: sizes of what is
    read; `rows`: of what is written; `window`. Place k of row o reads
    (o mul + k step + off) / div."""

    read: tuple[int, ...]
    rows: tuple[int, ...]
    window: tuple[int, ...]
    mul: tuple[int, ...]
    step: tuple[int, ...]
    off: tuple[int, ...]
    div: tuple[int, ...]

    def words(self) -> list[int]:
        return [n for field in self for n in field]

    @property
    def places(self) -> int:
        return math.prod(self.window)


def forward(read: Any, rows: Any, window: Any, node: Any) -> Geometry:
    """What a window of the operation reads."""
    strides, dilations, pads = _attributes(window, node)
    return Geometry(
        _three(read),
        _three(rows),
        _three(window),
        _three(strides),
        _three(dilations),
        _three([-p[0] for p in pads], 0),
        (1,) * AXES,
    )


def backward(read: Any, rows: Any, window: Any, node: Any) -> Geometry:
    """Which windows (`read`) an element (`rows`) is in; the window's places turned round, so that
    neighbours stay neighbours."""
    strides, dilations, pads = _attributes(window, node)
    off = [p[0] - d * (k - 1) for p, d, k in zip(pads, dilations, window)]
    return Geometry(
        _three(read),
        _three(rows),
        _three(window),
        (1,) * AXES,
        _three(dilations),
        _three(off, 0),
        _three(strides),
    )


def _attributes(window: Any, node: Any) -> tuple[Any, Any, Any]:
    dilations = node.get("dilations") or (1,) * len(window)
    return node.get("strides"), dilations, node.get("padding")


def _three(values: Any, missing: int = 1) -> tuple[int, ...]:
    return (missing,) * (AXES - len(values)) + tuple(values)
