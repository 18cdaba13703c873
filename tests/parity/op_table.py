"""Our operations beside PyTorch's functions: a row an operation, its operands' shapes several."""

from __future__ import annotations

from typing import Any

import torch
from op_builtins import BUILTINS
from op_loops import LOOPS
from op_row import Row, Shape, row
from op_structured import attentions, contractions, moves, windows
from torch.nn import functional as F  # noqa: N812 - torch's own usage

SHAPES: tuple[Shape, ...] = ((), (1,), (3, 1, 5), (2, 9, 31))
PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((7,), (7,)),
    ((3, 5), (5,)),
    ((4, 1), (1, 9)),
    ((), (3, 3)),
    ((1,), (1,)),
    ((2, 3, 1), (3, 17)),
)
ROWS: tuple[tuple[Shape, int], ...] = (
    ((1, 1), 1),
    ((3, 65), 1),
    ((5, 1, 7), 2),
    ((2, 9, 3), 1),
    ((33, 130), 1),
    ((4, 300), 0),
)
"""A shape and an axis of it."""


UNARY: dict[str, dict[str, Any]] = {
    "x": {
        "negate": torch.neg, "abs": torch.abs, "square": torch.square, "exp": torch.exp,
        "exp2": torch.exp2, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos,
        "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh,
        "atan": torch.atan, "erf": torch.erf, "erfc": torch.erfc, "sigmoid": torch.sigmoid,
        "reciprocal": torch.reciprocal, "relu": F.relu, "gelu": F.gelu, "silu": F.silu,
        "softplus": F.softplus, "mish": F.mish, "elu": F.elu, "leaky-relu": F.leaky_relu,
    },
    "+": {
        "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "log": torch.log, "log2": torch.log2,
        "log1p": torch.log1p,
    },
    "u": {"asin": torch.asin, "acos": torch.acos, "atanh": torch.atanh, "tan": torch.tan},
    "1+": {"acosh": torch.acosh},
}  # fmt: skip
ROUNDING = {
    "floor": torch.floor, "ceiling": torch.ceil, "round": torch.round, "truncate": torch.trunc,
    "sign": torch.sign,
}  # fmt: skip
BINARY = {
    "add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div,
    "maximum": torch.maximum, "minimum": torch.minimum, "atan2": torch.atan2,
    "mod": lambda x, y: torch.remainder(x, y.detach()),  # no gradient to the divisor, by design
    "rem": lambda x, y: torch.fmod(x, y.detach()),
}  # fmt: skip
COMPARE = {
    "equal": torch.eq, "not-equal": torch.ne, "less": torch.lt, "less-equal": torch.le,
    "greater": torch.gt, "greater-equal": torch.ge,
}  # fmt: skip


def elementwise() -> list[Row]:
    found = [
        row(name, [(shape, kind)], theirs)
        for kind, names in UNARY.items()
        for name, theirs in names.items()
        for shape in SHAPES
    ]
    found += [row(n, [s], f, differentiable=False) for n, f in ROUNDING.items() for s in SHAPES]
    for a, c in PAIRS:
        # Divisors keep away from 0: a remainder there jumps.
        right = lambda n, c=c: (c, "+") if n in ("divide", "mod", "rem") else c
        found += [row(n, [a, right(n)], f) for n, f in BINARY.items()]
        found += [row(n, [a, c], f, differentiable=False) for n, f in COMPARE.items()]
        found += [
            row("power", [(a, "+"), c], torch.pow),
            row("where", [(a, "b"), a, c], torch.where),
            row("fma", [a, c, c], lambda x, y, z: x * y + z),
        ]
    low, high = torch.tensor(-0.7), torch.tensor(0.9)
    tanh = lambda x: F.gelu(x, approximate="tanh")
    for shape in SHAPES:
        found += [
            row("gelu", [shape], tanh, "-tanh", approximate="tanh"),
            Row(
                "clip",
                ((shape, "x"),),
                lambda b, x: b("clip", x, b.like(-0.7, x), b.like(0.9, x)),
                lambda x: torch.clamp(x, low, high),
            ),
        ]
    return found


AXES: tuple[tuple[Shape, Shape, bool], ...] = (
    ((7,), (0,), False),
    ((3, 65), (1,), False),
    ((3, 65), (0,), True),
    ((2, 9, 3), (0, 2), False),
    ((2, 1, 5), (0, 1, 2), False),
    ((1, 1), (1,), True),
    ((33, 130), (1,), False),
    ((700, 5), (0,), False),
)


def reductions() -> list[Row]:
    found: list[Row] = []
    for shape, axes, keep in AXES:
        at: dict[str, Any] = {"axes": axes, "keep": keep}
        of = lambda f, axes=axes, keep=keep: lambda x: f(x, dim=axes, keepdim=keep)
        found += [
            row("reduce-sum", [shape], of(torch.sum), **at),
            row("reduce-max", [shape], of(torch.amax), **at),
            row("reduce-min", [shape], of(torch.amin), **at),
            row("logsumexp", [shape], of(torch.logsumexp), **at),
            row("reduce-any", [(shape, "b")], of(torch.any), differentiable=False, **at),
            row("reduce-all", [(shape, "b")], of(torch.all), differentiable=False, **at),
        ]
        if len(axes) == 1:
            one = lambda f, axis=axes[0], keep=keep: lambda x: f(x, dim=axis, keepdim=keep)
            at = {"axis": axes[0], "keep": keep}
            found += [
                row("reduce-product", [(shape, "+")], one(torch.prod), axes=axes, keep=keep),
                row("argmax", [shape], one(torch.argmax), differentiable=False, **at),
                row("argmin", [shape], one(torch.argmin), differentiable=False, **at),
            ]
    for shape, axis in ROWS:
        along = lambda f, axis=axis: lambda x: f(x, dim=axis)
        found += [
            row("cumsum", [shape], along(torch.cumsum), axis=axis),
            row("cumprod", [(shape, "+")], along(torch.cumprod), axis=axis),
            row("cummax", [shape], lambda x, axis=axis: torch.cummax(x, axis).values, axis=axis),
            row("softmax", [shape], along(F.softmax), axis=axis),
            row("log-softmax", [shape], along(F.log_softmax), axis=axis),
            row("sort", [shape], lambda x, axis=axis: torch.sort(x, axis).values, axis=axis),
        ]
    return found


def normalizations() -> list[Row]:
    found: list[Row] = []
    for shape in ((1, 1), (3, 65), (2, 3, 7), (5, 1, 128), (33, 130)):
        d = shape[-1:]
        norm = lambda x, w=None, v=None, d=d: F.layer_norm(x, d, w, v, 1e-5)
        at = {"axes": (len(shape) - 1,), "eps": 1e-5}
        found += [
            row("layer-norm", [shape], norm, **at),
            row("layer-norm", [shape, d], norm, "-weight", **at),
            row("layer-norm", [shape, d, d], norm, "-bias", **at),
            row("rms-norm", [shape, d], lambda x, w, d=d: F.rms_norm(x, d, w, 1e-5), **at),
        ]
    group_norm = lambda g: lambda x, *w: F.group_norm(x.movedim(-1, 1), g, *w).movedim(1, -1)
    for shape, groups in (((2, 5, 6), 3), ((1, 3, 3, 4), 1), ((3, 7, 1), 1)):
        found.append(
            row(
                "group-norm",
                [shape, shape[-1:], shape[-1:]],
                group_norm(groups),
                groups=groups,
                eps=1e-5,
            )
        )
    return found


def losses() -> list[Row]:
    found: list[Row] = []
    for n, classes in ((1, 1), (7, 3), (24, 65), (5, 257)):
        given = [(n, classes), ((n,), ("i", classes))]
        one = lambda x, y, **more: F.cross_entropy(x, y, reduction="none", **more)
        found += [
            row("cross-entropy", given, one, axis=1),
            row(
                "cross-entropy",
                given,
                lambda x, y: F.cross_entropy(x, y, reduction="none", label_smoothing=0.1),
                "-smooth",
                axis=1,
                smoothing=0.1,
            ),
            row(
                "cross-entropy",
                given,
                lambda x, y: F.cross_entropy(x, y, reduction="none", ignore_index=0),
                "-ignore",
                axis=1,
                ignore_index=0,
            ),
        ]
    for shape in SHAPES:
        found.append(
            row(
                "binary-cross-entropy",
                [shape, (shape, "b")],
                lambda x, t: F.binary_cross_entropy_with_logits(x, t.double(), reduction="none"),
            )
        )
    return found


ALL: list[Row] = [
    *elementwise(),
    *reductions(),
    *normalizations(),
    *losses(),
    *contractions(),
    *attentions(),
    *windows(),
    *moves(),
    *BUILTINS,
    *LOOPS,
]
