"""Matrix products in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...operation import Attributes
from ...types import Type
from . import Reference


def _matmul(x: list[Any], a: Attributes, t: tuple[Type, ...]) -> Any:
    left = np.swapaxes(x[0], -1, -2) if a.get("transpose-x") else x[0]
    right = np.swapaxes(x[1], -1, -2) if a.get("transpose-y") else x[1]
    return np.matmul(left, right)


TABLE: dict[str, Reference] = {"matmul": _matmul}
