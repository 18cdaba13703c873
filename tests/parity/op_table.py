"""Our operations beside PyTorch's functions: a row an operation, its operands' shapes several.

Kinds of operands: "x" any float, "+" positive, "u" within (-0.9, 0.9), "1+" above 1, "b" bool,
("i", n) indices below n. Values are distinct, so that no maximum is tied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - torch's own usage

Shape = tuple[int, ...]
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


def contractions() -> list[Row]:
    pairs = (
        ((3, 4), (4, 2)),
        ((1, 1), (1, 1)),
        ((17, 33), (33, 65)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((3, 4), (2, 4, 5)),
        ((130, 70), (70, 31)),
        ((1, 300), (300, 1)),
    )
    turned = lambda s: (*s[:-2], s[-1], s[-2])
    found: list[Row] = []
    for a, c in pairs:
        found += [
            row("matmul", [a, c], torch.matmul),
            row("matmul", [turned(a), c], lambda x, y: x.mT @ y, "-tx", transpose_x=True),
            row("matmul", [a, turned(c)], lambda x, y: x @ y.mT, "-ty", transpose_y=True),
        ]
    for subscripts, *shapes in (
        ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("ij,jk->ki", (3, 7), (7, 5)),
        ("ii->i", (3, 3)),
        ("ab,ab,ab->a", (2, 3), (2, 3), (2, 3)),
    ):
        call = lambda *x, s=subscripts: torch.einsum(s, *x)
        found.append(row("einsum", shapes, call, f"-{subscripts}", subscripts=subscripts))
    return found


def heads_first(f: Callable[..., Any]) -> Callable[..., Any]:
    """(b n h d) of ours to torch's (b h n d) and back."""
    return lambda q, k, v, **more: f(*(x.transpose(1, 2) for x in (q, k, v)), **more).transpose(
        1, 2
    )


def attentions() -> list[Row]:
    plain = heads_first(F.scaled_dot_product_attention)
    causal = lambda *x: plain(*x, is_causal=True)
    found: list[Row] = []
    for b, n, h, d in ((1, 1, 1, 1), (2, 5, 3, 8), (1, 64, 4, 32), (2, 17, 1, 5), (3, 33, 2, 16)):
        x = (b, n, h, d)
        found += [
            row("attention", [x, x, x], plain),
            row("attention", [x, x, x], causal, "-causal", causal=True),
        ]
    q, kv = (2, 7, 4, 8), (2, 7, 2, 8)
    found.append(
        row(
            "attention",
            [q, kv, kv],
            lambda q, k, v: plain(q, k, v, is_causal=True, enable_gqa=True),
            "-grouped",
            causal=True,
        )
    )
    found.append(row("attention", [(1, 3, 2, 4), (1, 9, 2, 4), (1, 9, 2, 5)], plain, "-cross"))
    return found


CONV: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
MAX: dict[int, Any] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG: dict[int, Any] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def channels_first(f: Callable[..., Any]) -> Callable[..., Any]:
    """Ours has channels last: (b n... c); a kernel is (k... i o), torch's (o i k...)."""

    def call(x: Any, *w: Any) -> Any:
        turned = [v.movedim(-1, 0).movedim(-1, 1) for v in w]
        return f(x.movedim(-1, 1), *turned).movedim(1, -1)

    return call


def pool(
    sizes: Shape, strides: Shape, padding: Shape, of: dict[int, Any], **more: Any
) -> Callable[[Any], Any]:
    return lambda x: of[len(sizes)](x, sizes, stride=strides, padding=padding, **more)


def windows() -> list[Row]:
    convs = (  # x, w, stride, dilation, padding, groups
        ((2, 9, 3), (3, 3, 4), (1,), (1,), (1,), 1),
        ((1, 1, 1), (1, 1, 1), (1,), (1,), (0,), 1),
        ((1, 17, 4), (5, 2, 6), (2,), (2,), (3,), 2),
        ((2, 7, 6, 3), (3, 3, 3, 5), (1, 1), (1, 1), (1, 1), 1),
        ((1, 11, 8, 4), (3, 2, 2, 6), (2, 1), (1, 2), (1, 2), 2),
        ((3, 28, 28, 1), (5, 5, 1, 8), (1, 1), (1, 1), (2, 2), 1),
        ((2, 9, 9, 16), (1, 1, 16, 3), (2, 2), (1, 1), (0, 0), 1),
        ((1, 5, 4, 3, 2), (3, 2, 2, 2, 3), (1, 2, 1), (1, 1, 1), (1, 0, 1), 1),
    )
    found: list[Row] = []
    for x, w, strides, dilations, padding, groups in convs:
        f = lambda x, w, s=strides, d=dilations, p=padding, g=groups: CONV[len(s)](
            x, w, stride=s, dilation=d, padding=p, groups=g
        )
        at = {"strides": strides, "dilations": dilations, "groups": groups}
        both = tuple((p, p) for p in padding)
        found.append(row("conv", [x, w], channels_first(f), padding=both, **at))
    pools = (  # x, size, stride, padding
        ((2, 9, 3), (2,), (2,), (0,)),
        ((1, 1, 1), (1,), (1,), (0,)),
        ((2, 11, 2), (3,), (2,), (1,)),
        ((1, 28, 28, 8), (2, 2), (2, 2), (0, 0)),
        ((2, 7, 5, 3), (3, 2), (1, 2), (1, 1)),
        ((1, 5, 4, 6, 2), (2, 2, 3), (2, 1, 3), (0, 1, 1)),
    )
    for x, sizes, strides, padding in pools:
        both = tuple((p, p) for p in padding)
        at = {"sizes": sizes, "strides": strides, "padding": both}
        of = partial(pool, sizes, strides, padding)
        found += [
            row("max-pool", [x], channels_first(of(MAX)), **at),
            row("avg-pool", [x], channels_first(of(AVG, count_include_pad=False)), **at),
            row(
                "avg-pool",
                [x],
                channels_first(of(AVG, count_include_pad=True)),
                "-padded",
                count_padding=True,
                **at,
            ),
        ]
    return found


def moves() -> list[Row]:
    index = lambda n, shape: (shape, ("i", n))
    wide = lambda i: i.long()
    return [
        row("reshape", [(3, 10)], lambda x: x.reshape(5, 1, 6), shape=(5, 1, 6)),
        row("permute", [(2, 3, 17)], lambda x: x.permute(2, 0, 1), axes=(2, 0, 1)),
        row("broadcast-to", [(3, 1)], lambda x: x.expand(2, 3, 9), shape=(2, 3, 9)),
        row("flip", [(3, 5)], lambda x: x.flip(1), axes=(1,)),
        row("slice", [(7, 9)], lambda x: x[1:6:2, 3:], starts=(1, 3), stops=(6, 9), steps=(2, 1)),
        row(
            "pad",
            [(3, 5)],
            lambda x: F.pad(x, (0, 2, 1, 0), value=0.5),
            low=(1, 0),
            high=(0, 2),
            value=0.5,
        ),
        row("concat", [(2, 3), (2, 1), (2, 7)], lambda *x: torch.cat(x, 1), axis=1),
        row("gather", [(65, 9), index(65, (3, 7))], lambda x, i: F.embedding(i, x), axis=0),
        row("gather", [(5, 3), index(5, ())], lambda x, i: x[i], "-one", axis=0),
        row("take-along", [(3, 9), index(9, (3, 4))], lambda x, i: x.gather(1, wide(i)), axis=1),
        row(
            "scatter-add",
            [(5, 3), index(5, (8,)), (8, 3)],
            lambda x, i, y: x.index_add(0, i, y),
            axis=0,
        ),
        row(
            "one-hot",
            [index(7, (9,))],
            lambda i: F.one_hot(i, 7),
            differentiable=False,
            n=7,
            axis=1,
            dtype="f32",
        ),
    ]  # fmt: skip


ALL: list[Row] = [
    *elementwise(),
    *reductions(),
    *normalizations(),
    *losses(),
    *contractions(),
    *attentions(),
    *windows(),
    *moves(),
]
