"""Further shapes of each differentiable operation: odd sizes, axes of size 1 and of size 0."""

from __future__ import annotations

from typing import Any

from op_cases import DIFFERENTIABLE, Case, case

from sexpgpu_core.ir.operation import Fusion
from sexpgpu_core.ir.ops import OPERATIONS

Shape = tuple[int, ...]
LEAST = 5
"""Shapes of each operation, at least."""
SHAPES: tuple[Shape, ...] = ((), (1,), (5,), (2, 1, 3), (0, 2))
PAIRS: tuple[tuple[Shape, Shape], ...] = (
    ((3, 5), (3, 5)),
    ((3, 5), (5,)),
    ((3, 1), (1, 5)),
    ((), (1, 3)),
    ((0, 3), (1, 3)),
    ((1, 1), (7,)),
)
TRIPLES: tuple[tuple[Shape, Shape, Shape], ...] = (
    ((2, 3), (3,), (2, 1)),
    ((), (3,), (1, 1)),
    ((1,), (1,), (1,)),
    ((0, 3), (3,), ()),
    ((5, 1, 3), (1, 3), (5, 1, 1)),
)
PLACES: tuple[tuple[Shape, int], ...] = (
    ((7,), 0),
    ((3, 5), 1),
    ((1, 1), 0),
    ((3, 1, 2), 0),
    ((0, 5), 1),
    ((5, 3), 0),
)
"""A shape and an axis of it, which is not empty."""
KINDS: dict[str, Any] = {
    **dict.fromkeys(["sqrt", "rsqrt", "log", "log2", "log1p"], "+"),
    **dict.fromkeys(["asin", "acos", "atanh", "tan", "erfinv"], "u"),
    "acosh": "1+",
}
"""Where an operation of one operand is defined, if not everywhere."""
DIVIDES = ("divide", "mod", "rem")
"""Whose second operand keeps away from 0."""


def unary() -> list[Case]:
    """The elementwise operations of one float operand without attributes, at every shape."""
    single = {c.operation for c in DIFFERENTIABLE if len(c.operands) == 1 and not c.attributes}
    plain = {n for n in single if OPERATIONS[n].fusion is Fusion.ELEMENT and n != "rope"}
    found = [case(name, (s, KINDS.get(name, "x"))) for name in sorted(plain) for s in SHAPES]
    for name, more in {
        "gelu": {"approximate": "tanh"},
        "softplus": {"beta": 2.0},
        "elu": {"alpha": 0.5},
        "leaky-relu": {"slope": 0.2},
        "cast": {"dtype": "f32"},
        "gradient-scale": {"factor": -0.5},
        "barrier": {},
    }.items():
        found += [case(name, shape, **more) for shape in SHAPES]
    return found


def binary() -> list[Case]:
    names = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2", "mod", "rem")
    found = [
        case(name, a, (b, "+" if name in DIVIDES else "x")) for name in names for a, b in PAIRS
    ]
    found += [case("power", (a, "+"), b) for a, b in PAIRS]
    found += [case("straight-through", shape, shape) for shape in SHAPES]
    for a, b, c in TRIPLES:
        found += [
            case("fma", a, b, c),
            case("clip", a, (b, "u"), (c, "1+")),
            case("where", (a, "b"), b, c),
        ]
    return found


def moves() -> list[Case]:
    found: list[Case] = []
    for shape, to in (
        ((), (3,)),
        ((1,), (0,)),
        ((5, 1), (5, 3)),
        ((3,), (1, 2, 3)),
        ((0,), (2, 0)),
    ):
        found.append(case("broadcast-to", shape, shape=to))
    for shape, to in (((6,), (3, 2)), ((), (1, 1)), ((0, 3), (5, 0)), ((7, 1), (7,)), ((1,), ())):
        found.append(case("reshape", shape, shape=to))
    for shape, axes in (((3, 5), (1, 0)), ((0, 3), (1, 0)), ((1, 2, 5), (2, 0, 1)), ((7,), (0,))):
        found.append(case("permute", shape, axes=axes))
        found.append(case("flip", shape, axes=axes[:1]))
    found += [case("permute", (2, 3, 1, 2), axes=(3, 1, 0, 2)), case("flip", (3, 1, 5), axes=())]
    found += [
        case("slice", (1, 7), starts=(0, 2), stops=(1, 7), steps=(1, 2)),
        case("slice", (0, 3), starts=(0, 1), stops=(0, 3), steps=(1, 1)),
        case("pad", (1,), low=(2,), high=(3,), value=-1.0),
        case("pad", (), low=(), high=(), value=0.0),
        case("pad", (5, 1, 3), low=(0, 1, 0), high=(1, 0, 0), interior=(0, 3, 1), value=0.0),
        case("concat", (1, 5), (3, 5), axis=0),
        case("concat", (7,), axis=0),
        case("concat", (0, 3), (0, 5), axis=1),
        case("concat", (2, 1, 3), (2, 1, 3), (2, 5, 3), axis=1),
    ]
    for x, y, starts in (
        ((5,), (3,), (1,)),
        ((1, 1), (1, 1), (0, 0)),
        ((3, 5), (0, 5), (2, 0)),
        ((0, 3), (0, 1), (0, 2)),
    ):
        found.append(case("slice-set", x, y, starts=starts))
    return found


def reductions() -> list[Case]:
    found: list[Case] = []
    for shape, axis in PLACES:
        for keep in (False, True):
            for name in ("reduce-sum", "reduce-max", "reduce-min", "reduce-product", "logsumexp"):
                found.append(case(name, shape, axes=(axis,), keep=keep))
        for name in ("cumsum", "cumprod", "cummax", "cummin"):
            found.append(case(name, shape, axis=axis, reverse=axis == 0))
        for name in ("softmax", "log-softmax"):
            found.append(case(name, shape, axis=axis, scale=0.5))
        for name in ("sort", "top-k"):
            more = {"k": min(2, shape[axis])} if name == "top-k" else {"descending": axis == 0}
            found.append(case(name, shape, axis=axis, **more))
        row = shape[axis:] if axis == len(shape) - 1 else None
        if row is not None:
            found.append(case("layer-norm", shape, row, row, axes=(axis,), eps=1e-2))
            found.append(case("rms-norm", shape, row, axes=(axis,), eps=1e-2))
    for name in ("reduce-sum", "reduce-product"):
        found.append(case(name, (3, 0), axes=(1,), keep=False))
    for name in ("cumsum", "cumprod"):
        found.append(case(name, (2, 0), axis=1, reverse=False))
    found += [
        case("layer-norm", (1, 1), (1,), axes=(1,), eps=1e-2),
        case("rms-norm", (1, 1), axes=(1,), eps=1e-2),
        case("group-norm", (3, 5, 3), (3,), groups=1, eps=1e-2),
        case("group-norm", (1, 1, 1), (1,), (1,), groups=1, eps=1e-2),
        case("group-norm", (0, 3, 2), (2,), (2,), groups=2, eps=1e-2),
    ]
    return found


def contractions() -> list[Case]:
    found: list[Case] = []
    for x, y in (
        ((5,), (5,)),
        ((1, 1), (1,)),
        ((3, 0), (3, 0)),
        ((0, 3), (3,)),
        ((2, 1, 3), (5, 3)),
    ):
        found.append(case("dot", x, y))
    for x, y in (((1,), (7,)), ((0,), (3,)), ((3, 1), (3, 5)), ((2, 1, 3), (5, 2))):
        found.append(case("outer", x, y))
    found += [
        case("einsum", (0, 3), (3, 2), subscripts="ij,jk->ik"),
        case("einsum", (1, 5), (1, 5), subscripts="bi,bi->b"),
    ]
    return found


def indexing() -> list[Case]:
    found: list[Case] = []
    for shape, axis in PLACES:
        n, rest = shape[axis], lambda size, s=shape, a=axis: (*s[:a], size, *s[a + 1 :])
        for size in (3, 0):
            index, y = ((size,), ("o", n)), rest(size)
            wide = (y, ("o", n))
            found += [
                case("gather", shape, index, axis=axis, out="drop"),
                case("scatter-add", shape, index, y, axis=axis, out="drop"),
                case("scatter-set", shape, index, y, axis=axis, out="drop"),
                case("take-along", shape, wide, axis=axis, out="drop"),
                case("put-along", shape, wide, y, axis=axis, out="drop"),
                case("add-along", shape, wide, y, axis=axis, out="drop"),
            ]
    for shape, n in (((5,), 3), ((1, 1), 1), ((0, 3), 2), ((7, 1, 2), 3), ((3, 0), 5)):
        found.append(case("segment-sum", shape, (shape[:1], ("o", n)), n=n, out="drop"))
    return found


def losses() -> list[Case]:
    found: list[Case] = []
    for shape, axis in (*PLACES[1:], ((3, 2, 5), 2)):
        rest = shape[:axis] + shape[axis + 1 :]
        n = shape[axis]
        found += [
            case("cross-entropy", shape, (rest, ("i", n)), axis=axis, smoothing=0.1, z_loss=0.01),
            case("cross-entropy", shape, (shape, "+"), axis=axis),
        ]
    found += [case("binary-cross-entropy", s, (s, "+"), positive_weight=2.0) for s in SHAPES]
    return found


def blocks() -> list[Case]:
    found: list[Case] = []
    for b, n, m, h, g, d, e in (
        (1, 1, 1, 1, 1, 1, 1),
        (2, 3, 5, 2, 1, 3, 1),
        (0, 3, 3, 2, 2, 2, 2),
        (1, 5, 5, 3, 3, 1, 2),
    ):
        found.append(case("attention", (b, n, h, d), (b, m, g, d), (b, m, g, e), causal=n == m))
        given = ((b, n, h, d), (b, m, g, d), (b, m, g, e))
        found.append(case("attention-forward", *given, causal=n == m))
        out = (b, n, h, e)
        found.append(case("attention-backward", out, *given, out, (b, h, n), causal=n == m))
    for n, k, m in ((1, 1, 1), (3, 2, 5), (0, 2, 2), (2, 0, 3)):
        found.append(case("matmul-bias", (n, k), (k, m), (m,)))
        found.append(case("matmul-gelu", (2, n, k), (k, m), (m,)))
        found.append(case("matmul-gelu-slope", (n, k), (k, m), (n, m)))
    for shape in ((1, 1, 1, 2), (2, 5, 1, 2), (0, 3, 2, 4), (1, 3, 3, 6)):
        found.append(case("rope", shape))
    return found


def _spatial(sizes: Any, kernel: Any, strides: Any, padding: Any) -> dict[str, Any]:
    return {
        "strides": strides,
        "dilations": (1,) * len(kernel),
        "padding": tuple((p, p) for p in padding),
        "groups": 1,
    }


WINDOWS: tuple[tuple[int, Shape, Shape, Shape, Shape, int, int], ...] = (
    (1, (1,), (1,), (1,), (0,), 1, 1),
    (2, (7,), (3,), (2,), (1,), 3, 1),
    (0, (5,), (3,), (1,), (1,), 2, 3),
    (1, (5, 3), (3, 1), (2, 1), (1, 0), 1, 3),
    (1, (3, 1, 2), (3, 1, 2), (1, 1, 1), (1, 0, 0), 1, 2),
)
"""Batch, sizes, kernel, strides, padding, channels in and out."""


def windows() -> list[Case]:
    found: list[Case] = []
    for b, n, k, s, p, i, o in WINDOWS:
        at = _spatial(n, k, s, p)
        out = tuple((x + 2 * q - w) // t + 1 for x, w, t, q in zip(n, k, s, p))
        x, w, y = (b, *n, i), (*k, i, o), (b, *out, o)
        pool = {"sizes": k, "strides": s, "padding": at["padding"]}
        found += [
            case("conv", x, w, **at),
            case("conv-input-gradient", y, w, input_shape=x, **at),
            case("conv-weight-gradient", x, y, kernel_shape=w, **at),
            case("conv-transpose", (b, *n, i), (*k, i, o), **at),
            case("max-pool", x, **pool),
            case("max-pool-gradient", x, (b, *out, i), **pool),
            case("avg-pool", x, **pool),
            case("avg-pool", x, count_padding=True, **pool),
            case("avg-pool-gradient", (b, *out, i), input_shape=x, **pool),
        ]
    return found


def every_shape() -> list[Case]:
    """The cases of the table and those of further shapes, each once."""
    families = (unary, binary, moves, reductions, contractions, indexing, losses, blocks, windows)
    found = {c.id: c for c in DIFFERENTIABLE}
    for family in families:
        found.update({c.id: c for c in family()})
    return list(found.values())


def asked() -> list[str]:
    """Operations that a gradient of ours flows through: that of `custom-gradient` is the file's."""
    ours = [n for n, op in OPERATIONS.items() if op.differentiable in ("yes", "expand")]
    return [name for name in ours if name != "custom-gradient"]


def shapes_of(cases: list[Case]) -> dict[str, set[tuple[Shape, ...]]]:
    """Shapes of the operands, by operation."""
    found: dict[str, set[tuple[Shape, ...]]] = {}
    for given in cases:
        found.setdefault(given.operation, set()).add(tuple(s for s, _ in given.operands))
    return found
