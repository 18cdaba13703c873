"""The families of operations that a graph grows by: (grown) -> value, values, or None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grown import Grown, Shape
from hypothesis import strategies as st
from loop_families import LOOPS
from wide_families import WIDE

from sexpgpu_core.ir import Value
from sexpgpu_core.ir.types import FLOATS, INTEGERS, SIGNED, broadcast

Made = Value | None | tuple[Value, ...]
UNARY = (
    *("negate", "abs", "sign", "square", "floor", "ceiling", "round", "truncate", "sin", "cos"),
    *("tanh", "atan", "asinh", "erf", "erfc", "sigmoid", "relu", "gelu", "silu", "softplus"),
    *("mish", "elu", "leaky-relu", "stop-gradient"),
)
BOUNDED = ("exp", "exp2", "expm1", "sinh", "cosh", "asin", "acos", "atanh", "tan", "log1p")
"""Of an operand in (-1, 1); those that end at 1 of one in (-0.9, 0.9)."""
POSITIVE = ("sqrt", "rsqrt", "reciprocal", "log", "log2")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "atan2")
COMPARE = ("equal", "not-equal", "less", "less-equal", "greater", "greater-equal")


def unary(g: Grown) -> Made:
    x = g.floats()
    return None if x is None else g.b(g.one(UNARY), x)


def bounded(g: Grown) -> Made:
    x = g.floats()
    if x is None:
        return None
    return g.b(g.one(BOUNDED), g.b("multiply", g.small(x), g.like(0.875, x)))


def positive(g: Grown) -> Made:
    x = g.floats()
    return None if x is None else g.b(g.one(POSITIVE), g.positive(x))


def binary(g: Grown) -> Made:
    x = g.floats()
    y = None if x is None else g.beside(x)
    if x is None or y is None:
        return None
    z = g.b(g.one(BINARY), x, y)
    return g.b("multiply", z, g.like(0.5, z)) if g.chance(2) else z


def marked(g: Grown) -> Made:
    """What changes gradients and order, and no value."""
    x = g.floats()
    y = None if x is None else g.pick(lambda v: v.type == x.type)
    if x is None or y is None:
        return None
    name = g.one(("straight-through", "barrier", "gradient-scale"))
    return g.b(name, x, factor=-0.5) if name == "gradient-scale" else g.b(name, x, y)


def quotient(g: Grown) -> Made:
    x = g.floats()
    y = None if x is None else g.beside(x)
    if x is None or y is None:
        return None
    name = g.one(("divide", "mod", "rem", "power"))
    return g.b(name, g.positive(x) if name == "power" else x, g.positive(y))


def ternary(g: Grown) -> Made:
    x = g.floats()
    y = None if x is None else g.beside(x)
    if x is None or y is None:
        return None
    z = g.b("clip", x, g.like(-0.5, x), g.like(0.75, x))
    return g.one((z, g.b("add", g.b("multiply", x, y), z), g.b("fma", x, y, g.like(0.25, x))))


def comparison(g: Grown) -> Made:
    x = g.pick()
    y = None if x is None or x.dtype == "bool" else g.beside(x)
    return None if x is None or y is None else g.b(g.one(COMPARE), x, y)


def predicate(g: Grown) -> Made:
    x = g.floats()
    return None if x is None else g.b(g.one(("is-nan", "is-inf", "is-finite")), x)


def logic(g: Grown) -> Made:
    x = g.pick(lambda v: v.dtype == "bool")
    y = None if x is None else g.beside(x)
    if x is None or y is None:
        return None
    name = g.one(("logical-and", "logical-or", "logical-xor", "logical-not"))
    return g.b(name, x) if name == "logical-not" else g.b(name, x, y)


def choice(g: Grown) -> Made:
    test, x = g.pick(lambda v: v.dtype == "bool"), g.pick()
    y = None if x is None else g.beside(x)
    if test is None or x is None or y is None:
        return None
    shape = broadcast(x.shape, y.shape)
    if shape is None or broadcast(test.shape, shape) is None:
        return None
    return g.b("where", test, x, y)


def cast(g: Grown) -> Made:
    x = g.pick()
    assert x is not None
    dtype = g.one((*FLOATS, *INTEGERS, "bool"))
    if x.dtype in FLOATS and dtype in INTEGERS and not g.chance(4):
        x = g.b("multiply", g.small(x), g.like(100.0, x))
    if x.dtype in INTEGERS and dtype in FLOATS:
        return g.small(g.b("multiply", g.b("cast", x, dtype=dtype), g.b.constant(0.01, dtype)))
    return g.b("cast", x, dtype=dtype)


def bits(g: Grown) -> Made:
    """The bits of an exact float: an integer's."""
    x = g.pick(lambda v: v.dtype in ("i32", "u32"))
    if x is None:
        return None
    small = g.b("cast", g.index(x, 100), dtype="f32")
    return g.b("bitcast", small, dtype=g.one(("i32", "u32")))


INTEGER_UNARY = ("bit-not", "popcount", "negate", "abs", "sign", "square", "floor")
INTEGER_BINARY = (
    *("add", "subtract", "multiply", "maximum", "minimum", "mod", "rem"),
    *("bit-and", "bit-or", "bit-xor"),
)


def integer(g: Grown) -> Made:
    x = g.integers()
    y = None if x is None else g.beside(x)
    if x is None or y is None:
        return None
    if g.chance(4):
        return g.b(g.one(INTEGER_UNARY), x)
    if g.chance(4):
        count = g.b("subtract", g.index(y, 9), g.like(4 if x.dtype in SIGNED else 0, y))
        return g.b("shift", x, count)
    return g.b(g.one(INTEGER_BINARY), x, y)


def making(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != ())
    if x is None or x.dtype == "bool":
        return None
    place = g.b("iota", dtype=x.dtype, shape=x.shape, axis=g.axis(x))
    if x.dtype in INTEGERS:
        return place
    return g.b("multiply", x, g.b("multiply", place, g.like(0.0625, x)))


def table(g: Grown) -> Made:
    n = g.number(1, 6)
    dtype = g.one(("f32", "i32", "bf16"))
    values = tuple((i * 3) % 7 / (4 if dtype != "i32" else 1) for i in range(n))
    values = tuple(map(int, values)) if dtype == "i32" else values
    return g.b("table", dtype=dtype, shape=(n,), values=values)


RANDOM = ("random-uniform", "random-normal", "random-bits", "random-bernoulli")


def random(g: Grown) -> Made:
    x = g.pick()
    assert x is not None
    name = g.one(RANDOM)
    at: dict[str, Any] = {"site": g.one("ab"), "domain": "train", "seed": g.number(0, 3)}
    at["shape"] = x.shape
    if x.shape and g.chance(2):
        at["batch-axis"] = g.axis(x)
    if name in ("random-uniform", "random-normal"):
        at["dtype"] = g.one(FLOATS)
    if name == "random-bernoulli":
        at["p"] = 0.75
    return g.b(name, g.step, **at)


# ---- shapes
def factors(n: int) -> list[int]:
    found = []
    for p in (2, 3, 5, 7, 11, 17):
        while n and n % p == 0:
            found.append(p)
            n //= p
    return [*found, n] if n != 1 else found


def reshape(g: Grown) -> Made:
    x = g.pick()
    assert x is not None
    if x.type.size == 0:
        return g.b("reshape", x, shape=(0, 3))
    shape: list[int] = []
    for f in factors(x.type.size):
        if shape and g.chance(2):
            shape[-1] *= f
        else:
            shape.append(f)
    if g.chance(2):
        shape.insert(g.number(0, len(shape)), 1)
    return g.b("reshape", x, shape=tuple(shape)) if len(shape) < 6 else None


def permute(g: Grown) -> Made:
    x = g.pick()
    assert x is not None
    axes = tuple(g.draw(st.permutations(range(len(x.shape)))))
    return g.b("flip", x, axes=axes[:1]) if g.chance(3) else g.b("permute", x, axes=axes)


def cut(g: Grown, n: int) -> tuple[int, int, int]:
    start = g.number(0, max(n - 1, 0))
    return start, g.number(min(start + (not g.chance(12)), n), n), g.number(1, 3)


def slice_of(g: Grown) -> Made:
    x = g.pick()
    assert x is not None
    cuts = [cut(g, n) for n in x.shape]
    starts, stops, steps = (tuple(c) for c in zip(*cuts)) if cuts else ((), (), ())
    return g.b("slice", x, starts=starts, stops=stops, steps=steps)


def slice_set(g: Grown) -> Made:
    x = g.pick(lambda v: v.dtype in FLOATS and bool(v.shape))
    if x is None:
        return None
    cuts = [cut(g, n)[:2] for n in x.shape]
    starts = tuple(a for a, _ in cuts)
    y = g.b("slice", x, starts=starts, stops=tuple(b for _, b in cuts), steps=(1,) * len(cuts))
    return g.b("slice-set", x, g.small(y), starts=starts)


def broadcast_to(g: Grown) -> Made:
    x = g.pick()
    assert x is not None
    shape = tuple(g.one((1, 3)) if n == 1 else n for n in x.shape)
    return g.b("broadcast-to", x, shape=(2, *shape) if g.chance(2) else shape)


def joined(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != ())
    if x is None:
        return None
    axis = g.axis(x)
    if g.chance(2):
        low = tuple(g.number(0, 2) for _ in x.shape)
        inner = tuple(g.number(0, 1) for _ in x.shape) if g.chance(2) else None
        value = True if x.dtype == "bool" else 1 if x.dtype in INTEGERS else 0.5
        return g.b("pad", x, low=low, high=low[::-1], interior=inner, value=value)
    y = g.b("flip", x, axes=(axis,))
    return g.b("concat", x, y, *((x,) if g.chance(2) else ()), axis=axis)


# ---- reductions
def axes_of(g: Grown, x: Value) -> Shape:
    return tuple(sorted(g.draw(st.sets(st.integers(0, len(x.shape) - 1), min_size=1))))


def reduction(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype != "bool")
    if x is None:
        return None
    axes, keep = axes_of(g, x), g.chance(2)
    names = ["reduce-sum", "reduce-sum", "reduce-product"]
    if all(x.shape[a] for a in axes):
        names += ["reduce-max", "reduce-min"] + (["logsumexp"] if x.dtype in FLOATS else [])
    y = g.b(g.one(names), x, axes=axes, keep=keep)
    return g.small(y) if y.dtype in FLOATS else y


def bool_reduction(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype == "bool")
    if x is None:
        return None
    return g.b(g.one(("reduce-any", "reduce-all")), x, axes=axes_of(g, x), keep=g.chance(2))


def extremum(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype != "bool" and 0 not in v.shape)
    if x is None:
        return None
    return g.b(g.one(("argmax", "argmin")), x, axis=g.axis(x), keep=g.chance(2))


def running(g: Grown) -> Made:
    x = g.pick(lambda v: v.shape != () and v.dtype != "bool")
    if x is None:
        return None
    name = g.one(("cumsum", "cumprod", "cummax", "cummin"))
    more: dict[str, Any] = (
        {"exclusive": True} if name in ("cumsum", "cumprod") and g.chance(2) else {}
    )
    y = g.b(name, x, axis=g.axis(x), reverse=g.chance(2), **more)
    return g.small(y) if y.dtype in FLOATS else y


FAMILIES: dict[str, Callable[[Grown], Made]] = {
    f.__name__: f
    for f in (
        *(
            unary,
            bounded,
            positive,
            binary,
            marked,
            quotient,
            ternary,
            comparison,
            predicate,
            logic,
        ),
        *(choice, cast, bits, integer, making, table, random, reshape, permute, slice_of),
        *(slice_set, broadcast_to, joined, reduction, bool_reduction, extremum, running),
    )
}
FAMILIES.update(WIDE)
FAMILIES.update(LOOPS)
