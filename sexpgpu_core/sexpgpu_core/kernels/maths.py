"""f32 functions as instructions of a Target: to about 4e-7 relative, right at inf, NaN, zero.

Each takes and gives f32 registers, scalar or vector. Polynomials are minimax fits made in f64.
Steps of an approximation use fma where the machine has it; all of it is part of the numerics key.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .target import Register, Target

EXP = (0.5, 0.16666667163372039, 0.04166626930236816, 0.008333268, 0.0013946148, 0.00019916596)
LOG = (
    0.3333321596687103,
    -0.24999797699815798,
    0.2001040684618403,
    -0.16680485095003978,
    0.14005854285955024,
    -0.12184300959467093,
    0.1398450599735947,
    -0.1289148664345687,
)
SIN = (-0.16666666639556932, 0.008333329143834453, -0.00019839256613268956, 2.7175642925541363e-06)
COS = (0.04166664565183182, -0.0013887306000445153, 2.4431200754380154e-05)
TANH_ABOVE = (
    4.89352455891786e-03,
    6.37261928875436e-04,
    1.48572235717979e-05,
    5.12229709037114e-08,
    -8.60467152213735e-11,
    2.00018790482477e-13,
    -2.76076847742355e-16,
)
TANH_BELOW = (
    4.89352518554385e-03,
    2.26843463243900e-03,
    1.18534705686654e-04,
    1.19825839466702e-06,
)
ERF_ABOVE = (
    -1.60960333262415e-02,
    -2.95459980854025e-03,
    -7.34990630326855e-04,
    -5.69250639462346e-05,
    -2.10102402082508e-06,
    2.77068142495902e-08,
    -2.72614225801306e-10,
)
ERF_BELOW = (
    -1.42647390514189e-02,
    -7.37332916720468e-03,
    -1.68282697438203e-03,
    -2.13374055278905e-04,
    -1.45660718464996e-05,
)
ERFC = (
    1.2769783934588663,
    -0.09276398086561341,
    -0.16603136242486103,
    0.16405534705431013,
    -0.05420430086727581,
    -0.008059877247283857,
    0.008631688755093982,
    0.0013135287101971292,
    -0.0012299350586422015,
    -0.000400583120161657,
)
MAGIC = 12582912.0
"""1.5 x 2^23: adding it leaves the nearest integer in the low bits."""
MAGIC_BITS = 0x4B400000
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4


def fused(t: Target, a: Register, b: Register, c: Register) -> Register:
    """a b + c, in one rounding where the machine has it."""
    if t.has_fma:
        return t.fma(a, b, c)
    return t.binary("fadd", t.binary("fmul", a, b), c)


def polynomial(t: Target, x: Register, coefficients: tuple[float, ...]) -> Register:
    """Horner; coefficients from the constant term up."""
    result = t.like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        result = fused(t, result, x, t.like(x, c))
    return result


def clamp(t: Target, x: Register, low: float, high: float) -> Register:
    """NaN stays: the comparison is false and x is taken."""
    low_, high_ = t.like(x, low), t.like(x, high)
    x = t.select(t.compare("olt", x, low_), low_, x)
    return t.select(t.compare("ogt", x, high_), high_, x)


def magnitude(t: Target, x: Register) -> Register:
    return t.intrinsic("fabs", x.kind, x)


def with_sign(t: Target, x: Register, sign: Register) -> Register:
    return t.intrinsic("copysign", x.kind, x, sign)


def power_of_two(t: Target, n: Register) -> Register:
    """2^n of an i32 in [-126, 127]."""
    biased = t.binary("add", n, t.like(n, 127))
    return t.convert("bitcast", t.binary("shl", biased, t.like(n, 23)), "f32")


def nearest(t: Target, x: Register, factor: float) -> tuple[Register, Register]:
    """The integer nearest to x factor (|.| < 2^22), as f32 and as i32."""
    magic = t.like(x, MAGIC)
    shifted = fused(t, x, t.like(x, factor), magic)
    bits = t.convert("bitcast", shifted, "i32")
    return t.binary("fsub", shifted, magic), t.binary("sub", bits, t.like(bits, MAGIC_BITS))


def scale(t: Target, x: Register, n: Register) -> Register:
    """x 2^n in two steps, so that results that are denormal or inf come out right."""
    half = t.binary("ashr", n, t.like(n, 1))
    x = t.binary("fmul", x, power_of_two(t, half))
    return t.binary("fmul", x, power_of_two(t, t.binary("sub", n, half)))


def _exp_parts(t: Target, x: Register) -> tuple[Register, Register]:
    """expm1 of what is left and the power of two: exp(x) = (1 + p) 2^n."""
    whole, n = nearest(t, x, 1 / math.log(2))
    r = fused(t, whole, t.like(x, -LN2_HIGH), x)
    r = fused(t, whole, t.like(x, -LN2_LOW), r)
    p = fused(t, polynomial(t, r, EXP), t.binary("fmul", r, r), r)
    return p, n


def _power(t: Target, x: Register, low: float, p: Register, n: Register) -> Register:
    """(1 + p) 2^n, but 0 below `low`: a product that underflows costs 150 cycles."""
    y = t.binary("fadd", p, t.like(p, 1.0))
    none = t.compare("olt", x, t.like(x, low))
    return scale(t, t.select(none, t.like(y, 0.0), y), n)


def exp(t: Target, x: Register) -> Register:
    p, n = _exp_parts(t, clamp(t, x, -104.0, 89.5))
    return _power(t, x, -104.0, p, n)


def exp2(t: Target, x: Register) -> Register:
    near = clamp(t, x, -151.0, 129.0)
    whole, n = nearest(t, near, 1.0)
    r = t.binary("fsub", near, whole)
    r = t.binary("fmul", r, t.like(x, math.log(2)))
    p = fused(t, polynomial(t, r, EXP), t.binary("fmul", r, r), r)
    return _power(t, x, -150.0, p, n)


def expm1(t: Target, x: Register) -> Register:
    small = clamp(t, x, -30.0, 30.0)
    p, n = _exp_parts(t, small)
    power = power_of_two(t, n)
    near = fused(t, p, power, t.binary("fsub", power, t.like(x, 1.0)))
    near = t.select(t.compare("oeq", x, t.like(x, 0.0)), x, near)
    return t.select(t.compare("ogt", x, t.like(x, 20.0)), exp(t, x), near)


def _log_parts(t: Target, x: Register) -> tuple[Register, Register]:
    """f in [-1/3, 1/3] and the exponent as f32: x = (1 + f) 2^e. x > 0."""
    tiny = t.compare("olt", x, t.like(x, 2.0**-126))
    x = t.select(tiny, t.binary("fmul", x, t.like(x, 2.0**23)), x)
    bits = t.convert("bitcast", x, "i32")
    e = t.binary("sub", bits, t.like(bits, 0x3F2AAAAB))
    e = t.binary("and", e, t.like(e, 0xFF800000))
    m = t.convert("bitcast", t.binary("sub", bits, e), "f32")
    exponent = t.convert("sitofp", t.binary("ashr", e, t.like(e, 23)), "f32")
    less = t.binary("fsub", exponent, t.like(x, 23.0))
    return t.binary("fsub", m, t.like(x, 1.0)), t.select(tiny, less, exponent)


def _log_special(t: Target, x: Register, result: Register) -> Register:
    """log of inf, NaN, zero and below."""
    zero = t.like(x, 0.0)
    result = t.select(t.compare("olt", x, t.like(x, math.inf)), result, x)
    result = t.select(t.compare("ogt", x, zero), result, t.like(x, math.nan))
    result = t.select(t.compare("oeq", x, zero), t.like(x, -math.inf), result)
    return t.select(t.compare("uno", x, x), x, result)


def _log1p_small(t: Target, f: Register) -> Register:
    square = t.binary("fmul", f, f)
    cube = t.binary("fmul", polynomial(t, f, LOG), f)
    return fused(t, t.binary("fadd", cube, t.like(f, -0.5)), square, f)


def log(t: Target, x: Register) -> Register:
    f, e = _log_parts(t, x)
    low = fused(t, e, t.like(x, LN2_LOW), _log1p_small(t, f))
    return _log_special(t, x, fused(t, e, t.like(x, LN2_HIGH), low))


def log2(t: Target, x: Register) -> Register:
    f, e = _log_parts(t, x)
    y = _log1p_small(t, f)
    high = t.binary("fmul", y, t.like(x, 1.4426950216293335))
    low = fused(t, y, t.like(x, 1.9259629911266175e-8), high)
    return _log_special(t, x, t.binary("fadd", e, low))


def log1p(t: Target, x: Register) -> Register:
    """log(u) with the rounding of u = 1 + x put back."""
    one = t.like(x, 1.0)
    u = t.binary("fadd", x, one)
    lost = t.binary("fsub", t.binary("fsub", u, one), x)
    result = t.binary("fsub", log(t, u), t.binary("fdiv", lost, u))
    far = t.compare("ogt", x, t.like(x, 1e30))
    result = t.select(far, log(t, x), result)
    edge = t.compare("ole", u, t.like(x, 0.0))
    result = t.select(edge, log(t, u), result)
    return t.select(t.compare("oeq", x, t.like(x, 0.0)), x, result)


def _rational(
    t: Target, x: Register, above: tuple[float, ...], below: tuple[float, ...]
) -> Register:
    """An odd function: x A(x^2) / B(x^2)."""
    z = t.binary("fmul", x, x)
    top = t.binary("fmul", polynomial(t, z, above), x)
    return t.binary("fdiv", top, polynomial(t, z, below))


def tanh(t: Target, x: Register) -> Register:
    small = t.compare("olt", magnitude(t, x), t.like(x, 4e-4))
    near = clamp(t, x, -7.90531110763549805, 7.90531110763549805)
    return t.select(small, x, clamp(t, _rational(t, near, TANH_ABOVE, TANH_BELOW), -1.0, 1.0))


def erf(t: Target, x: Register) -> Register:
    near = clamp(t, x, -4.0, 4.0)
    return clamp(t, _rational(t, near, ERF_ABOVE, ERF_BELOW), -1.0, 1.0)


def erfc(t: Target, x: Register) -> Register:
    """exp(-a^2) Q((a - 2) / (a + 2)) / (1 + 2 a) of a = |x|; 2 minus that below zero."""
    a = clamp(t, magnitude(t, x), 0.0, 10.1)
    two = t.like(x, 2.0)
    q = t.binary("fdiv", t.binary("fsub", a, two), t.binary("fadd", a, two))
    square = t.binary("fmul", a, a)
    e = exp(t, t.negate(square))
    lost = t.fma(t.negate(a), a, square)
    e = fused(t, e, lost, e)
    bottom = fused(t, two, a, t.like(x, 1.0))
    y = t.binary("fdiv", t.binary("fmul", polynomial(t, q, ERFC), e), bottom)
    return t.select(t.compare("olt", x, t.like(x, 0.0)), t.binary("fsub", two, y), y)


def sigmoid(t: Target, x: Register) -> Register:
    one = t.like(x, 1.0)
    e = exp(t, t.negate(magnitude(t, x)))
    top = t.select(t.compare("oge", x, t.like(x, 0.0)), one, e)
    return t.binary("fdiv", top, t.binary("fadd", one, e))


TURN = (1.57079601, 3.13916473e-7, 5.39030253e-15)
"""Pi / 2 in three f32 parts (Cody and Waite), for steps with one rounding."""
HUGE = 30000.0


def _sine(t: Target, x: Register, quarter: int, name: str) -> Register:
    whole, n = nearest(t, clamp(t, x, -HUGE, HUGE), 2 / math.pi)
    r = x
    for part in TURN:
        r = t.fma(whole, t.like(x, -part), r)
    z = t.binary("fmul", r, r)
    s = fused(t, t.binary("fmul", polynomial(t, z, SIN), z), r, r)
    half = fused(t, z, t.like(x, -0.5), t.like(x, 1.0))
    c = fused(t, polynomial(t, z, COS), t.binary("fmul", z, z), half)
    n = t.binary("add", n, t.like(n, quarter))
    odd = t.compare("ne", t.binary("and", n, t.like(n, 1)), t.like(n, 0))
    y = t.select(odd, c, s)
    flip = t.compare("ne", t.binary("and", n, t.like(n, 2)), t.like(n, 0))
    y = t.select(flip, t.negate(y), y)
    far = t.compare("ugt", magnitude(t, x), t.like(x, HUGE))
    return t.rarely(far, y, lambda: rare(name)(t, x))


def sin(t: Target, x: Register) -> Register:
    y = _sine(t, x, 0, "sin")
    return t.select(t.compare("oeq", x, t.like(x, 0.0)), x, y)


def cos(t: Target, x: Register) -> Register:
    return _sine(t, x, 1, "cos")


def sqrt(t: Target, x: Register) -> Register:
    return t.intrinsic("sqrt", x.kind, x)


def rsqrt(t: Target, x: Register) -> Register:
    return t.binary("fdiv", t.like(x, 1.0), sqrt(t, x))


def rare(name: str) -> Callable[..., Register]:
    """A function of the C library in f64, a lane at a time, rounded to f32."""

    def call(t: Target, *arguments: Register) -> Register:
        wide = tuple(t.convert("fpext", a, "f64") for a in arguments)
        return t.convert("fptrunc", t.libm(name, *wide), "f32")

    return call


F32: dict[str, Callable[..., Register]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log1p": log1p,
    "tanh": tanh,
    "erf": erf,
    "erfc": erfc,
    "sigmoid": sigmoid,
    "sin": sin,
    "cos": cos,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
    "power": rare("pow"),
    "tan": rare("tan"),
    "asin": rare("asin"),
    "acos": rare("acos"),
    "atan": rare("atan"),
    "atan2": rare("atan2"),
    "sinh": rare("sinh"),
    "cosh": rare("cosh"),
    "asinh": rare("asinh"),
    "acosh": rare("acosh"),
    "atanh": rare("atanh"),
    "cbrt": rare("cbrt"),
    "lgamma": rare("lgamma"),
}


def _library(name: str) -> Callable[..., Register]:
    return lambda t, *arguments: t.libm(name, *arguments)


def _sigmoid64(t: Target, x: Register) -> Register:
    one = t.like(x, 1.0)
    e = t.libm("exp", t.negate(magnitude(t, x)))
    top = t.select(t.compare("oge", x, t.like(x, 0.0)), one, e)
    return t.binary("fdiv", top, t.binary("fadd", one, e))


F64: dict[str, Callable[..., Register]] = {
    **{name: _library("pow" if name == "power" else name) for name in F32},
    "sigmoid": _sigmoid64,
    "sqrt": sqrt,
    "rsqrt": rsqrt,
}
