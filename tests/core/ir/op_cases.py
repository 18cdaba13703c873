"""Applications of every differentiable operation, in `op_case`'s kinds of operands."""

from __future__ import annotations

from op_case import Case, arrays, built, case, values
from op_cases_structured import STRUCTURED

__all__ = ["DIFFERENTIABLE", "Case", "arrays", "built", "case", "values"]


def _unary() -> list[Case]:
    kinds = {
        "x": "negate abs square exp exp2 expm1 sin cos sinh cosh tanh asinh atan erf erfc "
        "sigmoid relu gelu silu softplus mish elu leaky-relu reciprocal cbrt",
        "+": "sqrt rsqrt log log2 log1p lgamma",
        "u": "asin acos atanh tan erfinv",
        "1+": "acosh",
    }
    shapes = ((), (3,), (2, 1, 5), (0, 2))
    return [
        case(name, (shape, kind))
        for kind, names in kinds.items()
        for name in names.split()
        for shape in shapes[: 4 if name in ("exp", "gelu") else 2]
    ]


def _binary() -> list[Case]:
    names = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2", "mod", "rem"]
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 2)), ((2, 3), (1, 1))]
    found = [case(n, *pair) for n in names for pair in shapes[: 5 if n == "multiply" else 3]]
    found += [case("power", ((2, 3), "+"), (3,)), case("multiply", (0, 3), (1, 3))]
    return [
        *found,
        case("fma", (2, 3), (3,), (2, 1)),
        case("clip", (3, 4), ((4,), "u"), ((), "1+")),
    ]


_SOFT = [
    case("softmax", (3, 5), axis=1),
    case("softmax", (3, 1, 2), axis=0, scale=0.7),
    case("softmax", (3, 5), ((3, 5), "b"), axis=1, scale=2.0),
    case("softmax", (2, 4, 5), ((4, 5), "b"), axis=2),
    case("softmax", (0, 5), axis=1),
    case("log-softmax", (3, 5), axis=1, scale=0.5),
    case("log-softmax", (3, 5), axis=0),
    case("logsumexp", (3, 5), axes=(1,), keep=False),
    case("logsumexp", (2, 3, 2), axes=(0, 2), keep=True),
    case("layer-norm", (3, 5), axes=(1,), eps=1e-5),
    case("layer-norm", (3, 5), (5,), axes=(1,), eps=1e-5),
    case("layer-norm", (2, 3, 5), (5,), (5,), axes=(2,), eps=1e-5),
    case("layer-norm", (2, 3, 4), (3, 4), (3, 4), axes=(1, 2), eps=1e-3),
    case("rms-norm", (3, 5), axes=(1,), eps=1e-6),
    case("rms-norm", (2, 3, 5), (5,), axes=(2,), eps=1e-6),
    case("group-norm", (2, 3, 6), (6,), (6,), groups=3, eps=1e-4),
    case("group-norm", (2, 2, 2, 4), groups=2, eps=1e-4),
    case("cross-entropy", (4, 5), ((4,), ("i", 5)), axis=1),
    case("cross-entropy", (2, 5, 3), ((2, 3), ("i", 5)), axis=1, smoothing=0.1),
    case("cross-entropy", (4, 5), ((4,), ("i", 5)), axis=1, ignore_index=2, z_loss=0.01),
    case(
        "cross-entropy",
        (4, 5),
        ((4,), ("o", 5)),
        axis=1,
        ignore_index=-1,
        smoothing=0.2,
        out="drop",
    ),
    case("binary-cross-entropy", (3, 4), ((3, 4), "u")),
    case("binary-cross-entropy", (3, 4), ((4,), "+"), smoothing=0.1, positive_weight=2.5),
    case("binary-cross-entropy", (3, 4), ((3, 4), "b"), positive_weight=3.0),
]

_GROUPED = ((1, 3, 2, 2), (1, 3, 2, 2), (1, 4, 1, 2), (1, 4, 1, 2), (1, 3, 2, 2))
_ATTENTION = [
    case("attention", (2, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 4), causal=True),
    case("attention", (1, 3, 4, 2), (1, 5, 2, 2), (1, 5, 2, 3), scale=0.3),
    case(
        "attention",
        (2, 4, 1, 2),
        (2, 4, 1, 2),
        (2, 4, 1, 2),
        ((4, 4), "b"),
        causal=True,
        window=2,
        extras=("mask",),
    ),
    case(
        "attention",
        (1, 3, 2, 2),
        (1, 3, 2, 2),
        (1, 3, 2, 2),
        (2, 3, 3),
        ((1, 2, 3, 3), "b"),
        extras=("bias", "keep"),
        rate=0.25,
        soft_cap=2.0,
    ),
    case("attention-forward", (2, 3, 2, 4), (2, 3, 2, 4), (2, 3, 2, 4), causal=True),
    case("attention-forward", (1, 3, 4, 2), (1, 5, 2, 2), (1, 5, 2, 3), scale=0.3, window=3),
    case("attention-backward", *[(1, 3, 2, 2)] * 5, (1, 2, 3), causal=True),
    case("attention-backward", *_GROUPED, (1, 2, 3), scale=0.3),
    case("matmul-bias", (2, 3, 4), (4, 5), (5,)),
    case("matmul-bias", (3, 4), (5, 4), (5,), transpose_y=True),
    case("matmul-gelu", (2, 3, 4), (4, 5), (5,)),
    case("matmul-gelu-slope", (2, 3, 4), (4, 5), (2, 3, 5)),
    case("matmul-gelu-slope", (4, 3), (5, 4), (3, 5), transpose_x=True, transpose_y=True),
    case("rope", (2, 3, 2, 4)),
    case("rope", (1, 3, 2, 6), ((3,), ("i", 9)), base=100.0, dims=4, interleaved=True),
    case("rope", (2, 3, 1, 4), ((2, 3), ("i", 9)), scale=0.5),
]

_SHAPE = [
    case("broadcast-to", (1, 3), shape=(2, 4, 3)),
    case("broadcast-to", (), shape=(2, 0)),
    case("reshape", (2, 3), shape=(3, 1, 2)),
    case("permute", (2, 3, 4), axes=(2, 0, 1)),
    case("slice", (5, 4), starts=(1, 0), stops=(5, 3), steps=(2, 1)),
    case("slice", (7,), starts=(1,), stops=(7,), steps=(3,)),
    case("slice", (4, 2), starts=(2, 0), stops=(2, 2), steps=(1, 1)),
    case("slice-set", (4, 3), (2, 3), starts=(1, 0)),
    case("pad", (2, 3), low=(1, 0), high=(0, 2), value=0.5),
    case("pad", (2, 3), low=(1, 0), high=(0, 2), interior=(2, 1), value=0.0),
    case("pad", (0, 3), low=(1, 0), high=(0, 2), interior=(2, 1), value=0.0),
    case("concat", (2, 3), (2, 1), (2, 0), axis=1),
    case("flip", (2, 3, 2), axes=(0, 2)),
    case("where", ((2, 3), "b"), (2, 3), (3,)),
    case("where", ((3,), "b"), (), (2, 1)),
    case("straight-through", (2, 3), (2, 3)),
    case("cast", (2, 3), dtype="f32"),
]

_REDUCE = [
    case(name, shape, axes=axes, keep=keep)
    for name in ("reduce-sum", "reduce-max", "reduce-min", "reduce-product")
    for shape, axes, keep in [
        ((3, 4), (1,), False),
        ((3, 4), (0,), True),
        ((2, 3, 2), (0, 2), False),
        ((2, 1, 3), (0, 1, 2), False),
        ((3,), (), False),
    ]
]
_REDUCE += [case("reduce-sum", (0, 4), axes=(0,), keep=False)]
_REDUCE += [
    case(name, shape, axis=axis, reverse=reverse, **more)
    for name, more in [
        ("cumsum", {"exclusive": False}),
        ("cumsum", {"exclusive": True}),
        ("cumprod", {"exclusive": False}),
        ("cumprod", {"exclusive": True}),
        ("cummax", {}),
        ("cummin", {}),
    ]
    for shape, axis in [((5,), 0), ((3, 4), 0), ((2, 1), 1)]
    for reverse in (False, True)
]

_CONTRACTION = [
    case("matmul", a, c, transpose_x=tx, transpose_y=ty)
    for a, c, tx, ty in [
        ((3, 4), (4, 2), False, False),
        ((4, 3), (4, 2), True, False),
        ((3, 4), (2, 4), False, True),
        ((4, 3), (2, 4), True, True),
        ((2, 3, 4), (4, 5), False, False),
        ((2, 3, 4), (5, 4), False, True),
        ((2, 4, 3), (4, 5), True, False),
        ((2, 3, 4), (2, 4, 5), False, False),
        ((2, 1, 3, 4), (3, 5, 4), False, True),
        ((3, 4), (2, 4, 5), False, False),
        ((1, 1), (1, 1), False, False),
        ((0, 4), (4, 2), False, False),
        ((3, 0), (0, 2), False, False),
    ]
]
_CONTRACTION += [
    case("dot", (2, 3), (3,)),
    case("outer", (2, 3), (4,)),
    case("einsum", (2, 3, 2, 4), (2, 5, 2, 4), subscripts="bqhd,bkhd->bhqk"),
    case("einsum", (2, 3), (3, 4), subscripts="ij,jk->ki"),
    case("einsum", (3, 3), subscripts="ii->i"),
    case("einsum", (3, 3), subscripts="ii"),
    case("einsum", (2, 3), (4,), subscripts="ij,k->kji"),
    case("einsum", (2, 3, 4), (1, 4, 5), subscripts="...ij,...jk->...ik"),
    case("einsum", (2, 3), (3, 4), (4, 2), subscripts="ab,bc,ca->"),
    case("einsum", (2, 3), (2, 3), (2, 3), subscripts="ab,ab,ab->a"),
]

_INDEX = [
    case("gather", (5, 3), ((2, 2), ("i", 5)), axis=0),
    case("gather", (2, 5, 3), ((4,), ("i", 5)), axis=1),
    case("gather", (2, 5, 3), ((2, 4), ("i", 5)), axis=1, batch_axes=1),
    case("gather", (2, 5, 3), ((2, 4), ("o", 3)), axis=2, batch_axes=1, out="drop"),
    case("gather", (5, 3), ((), ("i", 5)), axis=0),
    case("gather", (5, 3), ((0,), ("i", 5)), axis=0),
    case("scatter-add", (5, 3), ((4,), ("i", 5)), (4, 3), axis=0),
    case("scatter-add", (2, 5, 3), ((2, 4), ("o", 5)), (2, 4, 3), axis=1, batch_axes=1, out="drop"),
    case("scatter-set", (5, 3), ((6,), ("i", 5)), (6, 3), axis=0),
    case("scatter-set", (2, 4), ((3,), ("o", 4)), (2, 3), axis=1, out="drop"),
    case("take-along", (3, 4), ((3, 2), ("i", 4)), axis=1),
    case("take-along", (3, 4), ((5, 4), ("o", 3)), axis=0, out="drop"),
    case("put-along", (3, 4), ((3, 5), ("i", 4)), (3, 5), axis=1),
    case("add-along", (3, 4), ((3, 5), ("o", 4)), (3, 5), axis=1, out="drop"),
    case("sort", (3, 4), axis=1),
    case("sort", (3, 4), axis=0, descending=True),
    case("top-k", (3, 5), k=2, axis=1),
    case("top-k", (5, 2), k=3, axis=0, smallest=True),
    case("segment-sum", (5, 2), ((5,), ("i", 3)), n=3),
]

_AT = {"groups": 1}
_CONV = [
    case("conv", (2, 5, 3), (3, 3, 4), strides=(1,), dilations=(1,), padding=((1, 1),), **_AT),
    case(
        "conv",
        (1, 5, 6, 4),
        (3, 2, 2, 6),
        strides=(2, 1),
        dilations=(1, 2),
        padding=((1, 0), (2, 1)),
        groups=2,
    ),
    case(
        "conv",
        (1, 3, 3, 3, 1),
        (2, 2, 2, 1, 2),
        strides=(1, 1, 1),
        dilations=(1, 1, 1),
        padding=((0, 0), (0, 1), (1, 0)),
        **_AT,
    ),
    case(
        "conv-input-gradient",
        (1, 3, 2),
        (3, 4, 2),
        strides=(2,),
        dilations=(1,),
        padding=((1, 1),),
        input_shape=(1, 5, 4),
        **_AT,
    ),
    case(
        "conv-weight-gradient",
        (2, 5, 4),
        (2, 3, 2),
        strides=(2,),
        dilations=(1,),
        padding=((1, 1),),
        kernel_shape=(3, 2, 2),
        groups=2,
    ),
    case(
        "conv-transpose",
        (1, 3, 4, 4),
        (3, 2, 4, 3),
        strides=(2, 1),
        dilations=(1, 2),
        padding=((1, 0), (0, 1)),
        output_padding=(1, 0),
        groups=2,
    ),
    case("max-pool", (2, 5, 2), sizes=(2,), strides=(2,), padding=((1, 0),)),
    case(
        "max-pool",
        (1, 5, 4, 1),
        sizes=(3, 2),
        strides=(1, 2),
        padding=((1, 1), (0, 0)),
        dilations=(1, 2),
    ),
    case(
        "max-pool-gradient",
        (1, 5, 4, 1),
        (1, 5, 1, 1),
        sizes=(3, 2),
        strides=(1, 2),
        padding=((1, 1), (0, 0)),
        dilations=(1, 2),
    ),
    case("avg-pool", (2, 5, 2), sizes=(3,), strides=(2,), padding=((1, 1),)),
    case(
        "avg-pool",
        (1, 4, 4, 2),
        sizes=(2, 2),
        strides=(2, 1),
        padding=((1, 1), (0, 1)),
        count_padding=True,
    ),
    case(
        "avg-pool-gradient",
        (2, 3, 2),
        sizes=(3,),
        strides=(2,),
        padding=((1, 1),),
        input_shape=(2, 5, 2),
    ),
]

_ACTIVATION = [
    case("gelu", (3, 4), approximate="tanh"),
    case("gelu", (3, 4), approximate="sigmoid"),
    case("softplus", (3, 4), beta=2.0),
    case("elu", (3, 4), alpha=0.5),
    case("leaky-relu", (3, 4), slope=0.2),
]

DIFFERENTIABLE: list[Case] = [
    *_unary(),
    *_binary(),
    *_SHAPE,
    *_REDUCE,
    *_CONTRACTION,
    *_INDEX,
    *_CONV,
    *_ACTIVATION,
    *_SOFT,
    *_ATTENTION,
    *STRUCTURED,
]
