"""Initial values of parameters: a pure function of (seed, path, initializer, shape) (45.14).

Domain `init`, site = path, row 0: adding a layer does not change the others' values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import nearest, problem
from ..evaluator.values import Value
from ..ir.types import Type, numpy_dtype
from ..records import NamedTuple
from .arguments import choice
from .exact import is_number, python_number
from .faults import describe
from .promote import integer, real
from .table import tensor_builtin

if TYPE_CHECKING:
    import numpy as np

REDRAWS = 32


class Initializer(NamedTuple):
    """`kind`: number normal truncated-normal uniform lecun glorot he orthogonal.

    `numbers`: the value; deviation; bounds; gain. `fan`: in, out or average.
    """

    kind: str
    numbers: tuple[float, ...] = ()
    fan: str = "in"
    batch_axes: int = 0

    def __str__(self) -> str:
        words = [self.kind, *(f"{n:g}" for n in self.numbers)]
        words += [f":fan :{self.fan}"] if self.fan != "in" else []
        words += [f":batch-axes {self.batch_axes}"] if self.batch_axes else []
        return words[1] if self.kind == "number" else f"({' '.join(words)})"


def default_initializer(shape: tuple[int, ...]) -> Initializer:
    """What a parameter without `:init` has: (lecun) from rank 2 on, else 0."""
    return Initializer("lecun") if len(shape) >= 2 else Initializer("number", (0.0,))


def initializer_of(value: Value, name: str, span: Any, option: str = "init") -> Initializer:
    """The initializer that an option gives; E-OPTION-VALUE."""
    if isinstance(value, Initializer):
        return value
    if is_number(value):
        return Initializer("number", (float(python_number(value)),))
    word = getattr(value, "name", "").lower()
    near = nearest(word, KINDS) if word else None
    raise problem(
        "E-OPTION-VALUE",
        f":{option} of {name} is {describe(value)}",
        hint=f"did you mean ({near})?"
        if near
        else "a number or an initializer: (normal 0.02), (lecun), 0",
    ).locate(span)


KINDS = ("normal", "truncated-normal", "uniform", "lecun", "glorot", "he", "orthogonal")


@tensor_builtin("normal", "(std)")
def normal(std: Value) -> Initializer:
    """Initializer: normal numbers of mean 0 and a deviation. (normal 0.02)"""
    return Initializer("normal", (real("normal", "std", std),))


@tensor_builtin("truncated-normal", "(std)")
def truncated_normal(std: Value) -> Initializer:
    """Initializer: as normal, within two deviations. (truncated-normal 0.02)"""
    return Initializer("truncated-normal", (real("truncated-normal", "std", std),))


@tensor_builtin("uniform", "(low high)")
def uniform(low: Value, high: Value) -> Initializer:
    """Initializer: uniform in [low, high). (uniform -0.1 0.1)"""
    return Initializer("uniform", (real("uniform", "low", low), real("uniform", "high", high)))


def _define_scaled(name: str, says: str, fan: bool) -> None:
    def with_fan(*, fan: Value = None, batch_axes: Value = 0) -> Initializer:
        side = "in" if fan is None else choice(name, "fan", fan, ("in", "out", "average"))
        return Initializer(name, (), side, integer(name, "batch-axes", batch_axes))

    def without(*, batch_axes: Value = 0) -> Initializer:
        return Initializer(name, (), "in", integer(name, "batch-axes", batch_axes))

    call = with_fan if fan else without
    call.__doc__ = f"Initializer: {says}. Leading :batch-axes are set apart. ({name})"
    keys = "(&key (fan :in) (batch-axes 0))" if fan else "(&key (batch-axes 0))"
    tensor_builtin(name, keys)(call)


_define_scaled("lecun", "normal, variance 1 / fan (LeCun et al. 1998)", True)
_define_scaled("he", "normal, variance 2 / fan (He et al. 2015)", True)
_define_scaled("glorot", "uniform, variance 2 / (fan-in + fan-out) (Glorot, Bengio 2010)", False)


@tensor_builtin("orthogonal", "(&key (gain 1) (batch-axes 0))")
def orthogonal(*, gain: Value = 1, batch_axes: Value = 0) -> Initializer:
    """Initializer: QR of normals, the sign of R's diagonal positive (Saxe et al. 2014).

    (orthogonal)"""
    axes = integer("orthogonal", "batch-axes", batch_axes)
    return Initializer("orthogonal", (real("orthogonal", "gain", gain),), "in", axes)


def fans(shape: tuple[int, ...], batch_axes: int) -> tuple[int, int]:
    """Fan in and out: the last axis is out, the one before in, times the receptive field (R10)."""
    shape = shape[batch_axes:]
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


def deviation(init: Initializer, shape: tuple[int, ...]) -> float:
    """The standard deviation that a scaled initializer gives."""
    fan_in, fan_out = fans(shape, init.batch_axes)
    if init.kind == "glorot":
        return math.sqrt(2 / max(fan_in + fan_out, 1))
    fan = {"in": fan_in, "out": fan_out, "average": (fan_in + fan_out) / 2}[init.fan]
    return math.sqrt((2 if init.kind == "he" else 1) / max(fan, 1))


def initial_value(init: Initializer, type: Type, path: str, seed: int) -> np.ndarray:
    """The initial value of a parameter or state; the caller owns the array."""
    import numpy as np

    shape = type.shape
    if init.kind == "number":
        return np.full(shape, init.numbers[0], numpy_dtype(type.dtype))
    found = _drawn(init, type, path, seed)
    return np.asarray(found.reshape(shape), numpy_dtype(type.dtype), order="C")


def _drawn(init: Initializer, type: Type, path: str, seed: int) -> Any:
    """Draws are of f32 for every dtype; in f64 what is made of them is not rounded to f32, so that
    a run begins where the same run in f32 does, but for its rounding."""
    import numpy as np

    float_ = np.float64 if type.dtype == "f64" else np.float32
    kind, shape, size = init.kind, type.shape, math.prod(type.shape)

    def draw(operation: str, iteration: int = 0) -> Any:
        return _draw(operation, size, path, seed, iteration).astype(float_)

    if kind == "uniform":
        low, high = map(float_, init.numbers)
        return low + (high - low) * draw("random-uniform")
    if kind == "glorot":
        bound = float_(math.sqrt(3) * deviation(init, shape))
        return bound * (float_(2) * draw("random-uniform") - float_(1))
    if kind == "truncated-normal":
        return float_(init.numbers[0]) * _truncated(draw)
    numbers = draw("random-normal")
    if kind == "orthogonal":
        return float_(init.numbers[0]) * _orthogonal(numbers, shape, init.batch_axes)
    scale = init.numbers[0] if kind == "normal" else deviation(init, shape)
    return float_(scale) * numbers


def _draw(operation: str, size: int, path: str, seed: int, iteration: int = 0) -> Any:
    """`size` numbers of row 0, by the operation's own reference."""
    import numpy as np

    from ..ir.ops import OPERATIONS

    attributes = {
        "site": path, "domain": "init", "seed": seed, "shape": (1, size), "dtype": "f32"
    }  # fmt: skip
    operands = np.int32(0), np.int32(0), np.int32(iteration)
    (found,) = OPERATIONS[operation].reference(operands, attributes, (Type("f32", (1, size)),))
    return found.reshape(size)


def _truncated(draw: Callable[..., Any]) -> Any:
    """Normals within 2, those outside drawn anew as later iterations."""
    import numpy as np

    found = draw("random-normal")
    for iteration in range(1, REDRAWS):
        outside = np.abs(found) > 2
        if not outside.any():
            break
        found = np.where(outside, draw("random-normal", iteration), found)
    return np.clip(found, -2, 2)


def _orthogonal(numbers: Any, shape: tuple[int, ...], batch_axes: int) -> Any:
    import numpy as np

    lead, rest = math.prod(shape[:batch_axes]), shape[batch_axes:]
    columns = rest[-1] if rest else 1
    rows = math.prod(rest[:-1])
    matrices = numbers.reshape(lead, rows, columns)
    tall = rows >= columns
    q, r = np.linalg.qr(matrices if tall else matrices.swapaxes(1, 2))
    diagonal = np.diagonal(r, axis1=1, axis2=2)
    q = q * np.where(diagonal < 0, -1, 1).astype(q.dtype)[:, None, :]
    return q if tall else q.swapaxes(1, 2)
