"""A row of the table: one operation beside PyTorch's function, and the values of its operands.

Kinds of operands: "x" any float, "+" positive, "u" within (-0.9, 0.9), "1+" above 1, "b" bool,
("i", n) indices below n. Values are distinct, so that no maximum is tied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]


class Row(NamedTuple):
    name: str
    operands: tuple[tuple[Shape, Any], ...]
    ours: Callable[..., Any]  # (builder, *values) -> value
    theirs: Callable[..., Any]  # (*tensors) -> tensor
    differentiable: bool = True

    @property
    def id(self) -> str:
        return f"{self.name}:" + "-".join(
            "x".join(map(str, s)) or "scalar" for s, _ in self.operands
        )

    def arrays(self) -> dict[str, Any]:
        random = np.random.default_rng(3)
        return {str(i): values(k, s, random) for i, (s, k) in enumerate(self.operands)}


def values(kind: Any, shape: Shape, random: np.random.Generator) -> Any:
    if kind == "b":
        return np.asarray(random.random(shape) < 0.6)
    if isinstance(kind, tuple):
        return np.asarray(random.integers(0, kind[1], shape), np.int32)
    n = int(np.prod(shape))
    low, high = {"x": (-2, 2), "+": (0.3, 1.7), "u": (-0.9, 0.9), "1+": (1.1, 2)}[kind]
    steps = (random.permutation(n) + random.uniform(0.2, 0.8)) / max(n, 1)
    return (low + (high - low) * steps).reshape(shape).astype(np.float32)


def row(
    name: str, operands: Any, theirs: Any, label: str = "", differentiable: bool = True, **at: Any
) -> Row:
    """A row of one node; underscores in attributes are dashes."""
    given = tuple(o if o and isinstance(o[0], tuple) else (o, "x") for o in operands)
    attributes = {k.replace("_", "-"): v for k, v in at.items()}
    call = lambda b, *x: b(name, *x, **attributes)
    return Row(f"{name}{label}", given, call, theirs, differentiable)
