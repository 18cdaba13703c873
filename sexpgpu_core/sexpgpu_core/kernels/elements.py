"""Scalar operations as instructions: a row an operation, rounded to the expression's dtype."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Graph
from ..ir.types import FLOATS, UNSIGNED, WIDTH, is_float
from . import maths
from .target import BITS, Register, Target, register_kind

Lower = Callable[..., Register]
"""(target, dtype of the operands, registers...) -> register."""

COST = {
    **dict.fromkeys(("divide", "reciprocal", "sqrt", "mod", "rem", "quotient"), 4),
    **dict.fromkeys(("rsqrt", "floor-divide"), 6),
    **dict.fromkeys(("exp", "exp2", "sigmoid", "tanh", "erf", "sin", "cos"), 14),
    **dict.fromkeys(("log", "log2", "expm1"), 16),
    **dict.fromkeys(("log1p", "erfc", "random"), 30),
    **dict.fromkeys(
        [
            "power",
            "tan",
            "asin",
            "acos",
            "atan",
            "atan2",
            "sinh",
            "cosh",
            "asinh",
            "acosh",
            "atanh",
            "cbrt",
            "lgamma",
        ],
        100,
    ),
}
"""In units of an addition, where it is not 1."""


def element(t: Target, op: str, given: str, dtype: str, arguments: list[Register]) -> Register:
    """An operation on operands of dtype `given` (where: of x), rounded to `dtype`."""
    if op == "cast":
        return rounded(t, dtype, cast(t, arguments[0], given, dtype))
    if op == "bitcast":
        return bitcast(t, arguments[0], given, dtype)
    row = (_FLOAT if is_float(given) else _INTEGER).get(op) or _ANY.get(op)
    if row is not None:
        result = row(t, given, *arguments)
    else:
        table = maths.F64 if given == "f64" else maths.F32
        result = table[op](t, *arguments)
    return result if op in EXACT else rounded(t, dtype, result)


EXACT = frozenset(
    [
        "negate",
        "abs",
        "maximum",
        "minimum",
        "where",
        "clip",
        "floor",
        "ceiling",
        "round",
        "truncate",
        "sign",
    ]
)
"""Results that need no rounding: they are operands, or exact."""


_CASTS = ("cast", "bitcast")


def rounded(t: Target, dtype: str, x: Register) -> Register:
    """A 16-bit float's f32 register rounded to it; other registers as they are."""
    if dtype == "f16":
        return t.convert("fpext", t.convert("fptrunc", x, "f16"), "f32")
    if dtype != "bf16":
        return x
    bits = t.to_bf16(x)
    return t.convert("bitcast", t.binary("shl", bits, t.like(bits, 16)), "f32")


def load(t: Target, pointer: Register, dtype: str, lanes: int) -> Register:
    """Memory to register: bf16 and f16 widened, bool to i1."""
    return from_memory(t, dtype, t.load(pointer, _MEMORY[dtype], lanes))


def from_memory(t: Target, dtype: str, raw: Register) -> Register:
    if dtype == "bf16":
        wide = t.convert("zext", raw, "i32")
        return t.convert("bitcast", t.binary("shl", wide, t.like(wide, 16)), "f32")
    if dtype == "f16":
        return t.convert("fpext", raw, "f32")
    return t.compare("ne", raw, t.like(raw, 0)) if dtype == "bool" else raw


def to_memory(t: Target, dtype: str, x: Register) -> Register:
    """Register to what is stored: it is rounded already."""
    if dtype == "bf16":
        bits = t.convert("bitcast", x, "i32")
        return t.convert("trunc", t.binary("lshr", bits, t.like(bits, 16)), "i16")
    if dtype == "f16":
        return t.convert("fptrunc", x, "f16")
    return t.convert("zext", x, "i8") if dtype == "bool" else x


_MEMORY = {"bf16": "i16", "bool": "i8", "f16": "f16", "f32": "f32", "f64": "f64"}
_MEMORY.update({f"{s}{b}": f"i{b}" for s in "iu" for b in (8, 16, 32, 64)})


def cast(t: Target, x: Register, given: str, dtype: str) -> Register:
    """To another dtype: float to integer truncates; bool is 0 or 1; not zero is true."""
    kind = register_kind(dtype)
    alike = x.kind == kind and is_float(given) == is_float(dtype)
    if given == dtype or (alike and dtype != "bool"):
        return x
    if dtype == "bool":
        return t.compare("une" if is_float(given) else "ne", x, t.like(x, 0))
    if is_float(given):
        return _from_float(t, x, dtype, kind)
    if is_float(dtype):
        unsigned = given in UNSIGNED or given == "bool"
        return t.convert("uitofp" if unsigned else "sitofp", x, kind)
    return resize(t, x, given, kind)


def _from_float(t: Target, x: Register, dtype: str, kind: str) -> Register:
    if is_float(dtype):
        return t.convert("fpext" if kind == "f64" else "fptrunc", x, kind)
    name = "fptoui.sat" if dtype in UNSIGNED else "fptosi.sat"
    return t.intrinsic(name, kind, x, source=x.kind)


def resize(t: Target, x: Register, given: str, kind: str) -> Register:
    """An integer to another width."""
    if x.kind == kind:
        return x
    if BITS[kind] < BITS[x.kind]:
        return t.convert("trunc", x, kind)
    return t.convert("zext" if given in UNSIGNED or given == "bool" else "sext", x, kind)


def bitcast(t: Target, x: Register, given: str, dtype: str) -> Register:
    raw = to_memory(t, given, x)
    kind = _MEMORY[dtype]
    if raw.kind != kind:
        raw = t.convert("bitcast", raw, kind)
    return from_memory(t, dtype, raw)


def _float(instruction: str) -> Lower:
    return lambda t, d, a, b: t.binary(instruction, a, b)


def _compare(ordered: str, unsigned: str, signed: str) -> Lower:
    def lower(t: Target, d: str, a: Register, b: Register) -> Register:
        if is_float(d):
            return t.compare(ordered, a, b)
        return t.compare(unsigned if d in UNSIGNED or d == "bool" else signed, a, b)

    return lower


def _extremum(better: str) -> Lower:
    """NaN of either wins; of equal operands the first is taken."""

    def lower(t: Target, d: str, a: Register, b: Register) -> Register:
        if is_float(d):
            keep = t.compare("oge" if better == "gt" else "ole", a, b)
            chosen = t.select(keep, a, b)
            return t.select(t.compare("uno", a, a), a, chosen)
        sign = "u" if d in UNSIGNED or d == "bool" else "s"
        return t.select(t.compare(sign + better, b, a), b, a)

    return lower


maximum, minimum = _extremum("gt"), _extremum("lt")


def _sign(t: Target, d: str, x: Register) -> Register:
    zero, one = t.like(x, 0), t.like(x, 1)
    if d in UNSIGNED:
        return t.select(t.compare("ne", x, zero), one, zero)
    above, below = ("ogt", "olt") if is_float(d) else ("sgt", "slt")
    rest = t.select(t.compare(below, x, zero), t.like(x, -1), x if is_float(d) else zero)
    return t.select(t.compare(above, x, zero), one, rest)


def _absolute(t: Target, d: str, x: Register) -> Register:
    if is_float(d):
        return maths.magnitude(t, x)
    if d in UNSIGNED:
        return x
    zero = t.like(x, 0)
    return t.select(t.compare("slt", x, zero), t.binary("sub", zero, x), x)


def _remainder(t: Target, d: str, x: Register, y: Register) -> Register:
    """Sign of x. An integer's by zero is 0."""
    if is_float(d):
        # exact as fmod: the quotient of f32 operands fits no register, so the C library does it.
        if d == "f64":
            return t.libm("fmod", x, y)
        return maths.rare("fmod")(t, x, y)
    zero = t.compare("eq", y, t.like(y, 0))
    if d not in UNSIGNED:
        zero = t.binary("or", zero, t.compare("eq", y, t.like(y, -1)))
    safe = t.select(zero, t.like(y, 1), y)
    return t.binary("urem" if d in UNSIGNED else "srem", x, safe)


def _quotient(t: Target, d: str, x: Register, y: Register) -> Register:
    """Toward zero, of integers; by zero it is 0. The least by -1 is itself, as all else wraps."""
    zero = t.compare("eq", y, t.like(y, 0))
    if d in UNSIGNED:
        found = t.binary("udiv", x, t.select(zero, t.like(y, 1), y))
        return t.select(zero, t.like(y, 0), found)
    turned = t.compare("eq", y, t.like(y, -1))  # the machine traps at the least by -1
    found = t.binary("sdiv", x, t.select(t.binary("or", zero, turned), t.like(y, 1), y))
    found = t.select(turned, t.binary("sub", t.like(x, 0), x), found)
    return t.select(zero, t.like(y, 0), found)


def _modulo(t: Target, d: str, x: Register, y: Register) -> Register:
    """Sign of y."""
    r = _remainder(t, d, x, y)
    if d in UNSIGNED:
        return r
    zero = t.like(r, 0)
    if is_float(d):
        other = t.binary("xor", t.compare("olt", r, zero), t.compare("olt", y, zero))
        some = t.compare("one", r, zero)
        moved = t.binary("fadd", r, y)
        r = t.select(t.compare("oeq", r, zero), maths.with_sign(t, r, y), r)
    else:
        other = t.binary("xor", t.compare("slt", r, zero), t.compare("slt", y, zero))
        some = t.compare("ne", r, zero)
        moved = t.binary("add", r, y)
    return t.select(t.binary("and", other, some), moved, r)


def _clip(t: Target, d: str, x: Register, low: Register, high: Register) -> Register:
    return minimum(t, d, maximum(t, d, x, low), high)


def _shift(t: Target, d: str, x: Register, count: Register) -> Register:
    """Left by count, right by -count; as many bits as there are or more leave 0 or the sign."""
    bits, zero = BITS[x.kind], t.like(x, 0)
    most = t.like(x, bits - 1)
    right = "lshr" if d in UNSIGNED else "ashr"
    low = t.compare("ult", count, t.like(x, bits))
    left = t.binary("shl", x, t.select(low, count, zero))
    left = t.select(low, left, zero)
    if d in UNSIGNED:
        return left
    down = t.binary("sub", zero, count)
    down = t.select(t.compare("ult", down, t.like(x, bits)), down, most)
    return t.select(t.compare("slt", count, zero), t.binary(right, x, down), left)


def _rounding(name: str) -> Lower:
    return lambda t, d, x: t.intrinsic(name, x.kind, x)


def _same(t: Target, d: str, x: Register) -> Register:
    return x


def _is_inf(t: Target, d: str, x: Register) -> Register:
    return t.compare("oeq", maths.magnitude(t, x), t.like(x, float("inf")))


def _is_finite(t: Target, d: str, x: Register) -> Register:
    return t.compare("one", maths.magnitude(t, x), t.like(x, float("inf")))


def _not(t: Target, d: str, x: Register) -> Register:
    return t.binary("xor", x, t.like(x, -1 if x.kind != "i1" else 1))


_FLOAT: dict[str, Lower] = {
    "add": _float("fadd"),
    "subtract": _float("fsub"),
    "multiply": _float("fmul"),
    "divide": _float("fdiv"),
    "negate": lambda t, d, x: t.negate(x),
    "square": lambda t, d, x: t.binary("fmul", x, x),
    "reciprocal": lambda t, d, x: t.binary("fdiv", t.like(x, 1), x),
    "fma": lambda t, d, a, b, c: t.fma(a, b, c),
    "floor": _rounding("floor"),
    "ceiling": _rounding("ceil"),
    "round": _rounding("roundeven"),
    "truncate": _rounding("trunc"),
    "is-nan": lambda t, d, x: t.compare("uno", x, x),
    "is-inf": _is_inf,
    "is-finite": _is_finite,
}
_INTEGER: dict[str, Lower] = {
    "add": _float("add"),
    "subtract": _float("sub"),
    "multiply": _float("mul"),
    "negate": lambda t, d, x: t.binary("sub", t.like(x, 0), x),
    "square": lambda t, d, x: t.binary("mul", x, x),
    "fma": lambda t, d, a, b, c: t.binary("add", t.binary("mul", a, b), c),
    **dict.fromkeys(("floor", "ceiling", "round", "truncate"), _same),
    "quotient": _quotient,
    "shift-right": _float("lshr"),
    "logical-and": _float("and"),
    "logical-or": _float("or"),
    "logical-xor": _float("xor"),
    "logical-not": _not,
    "bit-and": _float("and"),
    "bit-or": _float("or"),
    "bit-xor": _float("xor"),
    "bit-not": _not,
    "shift": _shift,
    "popcount": lambda t, d, x: t.intrinsic("ctpop", x.kind, x),
}
_ANY: dict[str, Lower] = {
    "maximum": maximum,
    "minimum": minimum,
    "abs": _absolute,
    "sign": _sign,
    "mod": _modulo,
    "rem": _remainder,
    "clip": _clip,
    "equal": _compare("oeq", "eq", "eq"),
    "not-equal": _compare("une", "ne", "ne"),
    "less": _compare("olt", "ult", "slt"),
    "less-equal": _compare("ole", "ule", "sle"),
    "greater": _compare("ogt", "ugt", "sgt"),
    "greater-equal": _compare("oge", "uge", "sge"),
    "where": lambda t, d, c, a, b: t.select(c, a, b),
}
KNOWN = frozenset((*_FLOAT, *_INTEGER, *_ANY, *maths.F32, *_CASTS))
"""Elementwise operations that the emitter has."""
CHEAP = 24
"""Most additions that scalars of an update's body may cost: each of its kernels does them again."""


def is_even(body: Graph, shape: tuple[int, ...]) -> bool:
    """Whether all that an update's body computes is elementwise, of that shape or a cheap scalar,
    and each result is made here, once."""
    if 0 in shape or not any(n > 1 for n in shape):
        return False
    ends = [v.node for v in body.results.values()]
    distinct = len({n.id for n in ends}) == len(ends)
    live, scalars = body.live(), 0
    for node in body.nodes:
        op, own = node.operation, node.types[0].shape
        if node.id not in live or op in ("input", "constant"):
            continue
        if op not in KNOWN or own not in (shape, ()):
            return False
        scalars += COST.get(op, 1) if own != shape else 0
    made = all(n.operation in KNOWN and n.types[0].shape == shape for n in ends)
    return distinct and made and scalars <= CHEAP


__all__ = ["COST", "FLOATS", "KNOWN", "WIDTH", "element", "rounded"]
