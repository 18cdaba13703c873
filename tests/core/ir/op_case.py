"""Applications of operations for the tests: operands as (shape, kind), attributes.

Kinds: "x" floats in (-2, 2) away from 0 and from each other, "+" in (0.3, 1.7), "u" in (-0.9, 0.9),
"1+" in (1.1, 2), "b" bools, ("i", n) integers in [0, n), ("o", n) in [-1, n], ("=", numbers) these
integers, "m" matrices near twice the unit matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.ops import OPERATIONS


class Case(NamedTuple):
    operation: str
    operands: tuple[tuple[tuple[int, ...], Any], ...]
    attributes: dict[str, Any] = {}

    @property
    def id(self) -> str:
        shapes = "-".join("x".join(map(str, s)) or "scalar" for s, _ in self.operands)
        told = "-".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.operation}:{shapes}:{told}".replace(" ", "")


def case(operation: str, *operands: Any, **attributes: Any) -> Case:
    """A plain shape stands for floats of that shape; underscores in names are dashes."""
    given = tuple(o if o and isinstance(o[0], tuple) else (o, "x") for o in operands)
    named = {k.replace("_", "-"): v for k, v in attributes.items()}
    return Case(operation, given, named)


def values(kind: Any, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    n = int(np.prod(shape))
    if kind == "b":
        return random.random(shape) < 0.6
    if kind == "m":
        return 0.3 * values("x", shape, random) + 2.0 * np.eye(shape[-1])
    if isinstance(kind, tuple) and kind[0] == "=":
        return np.array(kind[1], np.int32).reshape(shape)
    if isinstance(kind, tuple):
        low = 0 if kind[0] == "i" else -1
        high = kind[1] if kind[0] == "i" else kind[1] + 1
        return random.integers(low, high, shape).astype(np.int32)
    low, high = {"x": (-2, 2), "+": (0.3, 1.7), "u": (-0.9, 0.9), "1+": (1.1, 2)}[kind]
    # Distinct values, of other operands too, so that no difference crosses a kink.
    steps = (random.permutation(n) + random.uniform(0.2, 0.8)) / max(n, 1)
    return (low + (high - low) * steps).reshape(shape)


def built(given: Case, dtype: str = "f64") -> tuple[Builder, list[Value], tuple[Value, ...]]:
    """A graph of the case: builder, inputs "0" "1" ..., results."""
    b = Builder(OPERATIONS)
    inputs = []
    for i, (shape, kind) in enumerate(given.operands):
        of_kind = "bool" if kind == "b" else "i32" if isinstance(kind, tuple) else dtype
        inputs.append(b.input(str(i), "batch", of_kind, shape))
    return b, inputs, b.several(given.operation, *inputs, **given.attributes)


def arrays(given: Case, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {str(i): values(k, s, random) for i, (s, k) in enumerate(given.operands)}
