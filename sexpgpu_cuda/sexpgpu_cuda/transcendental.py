"""The rest of C's functions of f64, made of those of `functions`: to some units in the last place.

fmod is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sexpgpu_core.kernels.target import Register

from . import functions as f
from .target import PtxTarget as Target

ERFC = (
    1.2301029034905961,
    -0.07323847047412974,
    -0.014004786063244646,
    0.005739612432818812,
    -0.000833708190617257,
    2.3172461670901698e-05,
    9.963119632209273e-06,
    -8.396261452386453e-07,
    -1.5550229725249155e-07,
    1.7249268176629306e-08,
    3.4516754157972033e-09,
    -2.998836885973729e-10,
    -9.455112239779684e-11,
    2.6810657922607928e-12,
    2.6904642699066966e-12,
    1.2584833815097894e-13,
    -6.763669328609854e-14,
    -1.0193177427555712e-14,
    1.0673139229796253e-15,
    4.503900974748834e-16,
)
"""Chebyshev's, of erfc(a) exp(a a) (1 + 2 a) for a in [1, 28], in q = (a - 2) / (a + 2)."""
LEAST_Q, MOST_Q = -1 / 3, 26 / 30
ERF = [2 / math.sqrt(math.pi) * (-1) ** k / (math.factorial(k) * (2 * k + 1)) for k in range(20)]
EXPM1 = [1 / math.factorial(k) for k in range(1, 15)]
ATAN = [(-1) ** k / (2 * k + 1) for k in range(22)]
PI_LOW = 1.2246467991473532e-16
"""What math.pi lacks of pi."""


def like(t: Target, x: Register, name: str) -> Callable[..., Register]:
    """Instructions on registers and numbers like x: `like(t, x, "fmul")(a, 2.0)`."""

    def apply(*arguments: Register | float) -> Register:
        given = [a if isinstance(a, Register) else t.like(x, a) for a in arguments]
        if name == "fma":
            return t.fma(*given)
        if name.startswith("f"):
            return t.binary(name, *given)
        return t.compare(name, *given)

    return apply


class Maths:
    """Arithmetic on one kind of register, with numbers where constants are meant."""

    def __init__(self, t: Target, x: Register) -> None:
        self.t = t
        self.add, self.sub, self.mul, self.div, self.fma = (
            like(t, x, n) for n in ("fadd", "fsub", "fmul", "fdiv", "fma")
        )
        self.below, self.above, self.same = (like(t, x, n) for n in ("olt", "ogt", "oeq"))
        self._x = x

    def where(self, test: Register, a: Register | float, b: Register | float) -> Register:
        given = [v if isinstance(v, Register) else self.t.like(self._x, v) for v in (a, b)]
        return self.t.select(test, *given)

    def magnitude(self, x: Register) -> Register:
        return self.t.intrinsic("fabs", "f64", x)

    def sqrt(self, x: Register) -> Register:
        return self.t.intrinsic("sqrt", "f64", x)

    def signed(self, x: Register, sign: Register) -> Register:
        return self.t.intrinsic("copysign", "f64", x, sign)


def exp2(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    whole, n = f.nearest(t, f.clamp(t, x, -1080.0, 1030.0), 1.0)
    r = m.mul(m.sub(f.clamp(t, x, -1080.0, 1030.0), whole), math.log(2))
    found = f.scaled(t, f.horner(t, r, [1.0, *EXPM1]), n)
    return m.where(m.below(x, -1076.0), 0.0, found)


def expm1(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    near = f.clamp(t, x, -50.0, 50.0)
    whole, n = f.nearest(t, near, 1 / math.log(2))
    high = m.fma(whole, -f.LN2_HIGH, near)
    r = m.fma(whole, -f.LN2_LOW, high)
    p = m.mul(r, f.horner(t, r, EXPM1))
    power = f.power_of_two(t, n)
    found = m.fma(p, power, m.sub(power, 1.0))
    found = m.where(m.same(x, 0.0), x, found)
    return m.where(m.above(x, 50.0), f.exp(t, x), found)


def log2(t: Target, x: Register) -> Register:
    fraction, exponent = f.log_parts(t, x)
    m = Maths(t, x)
    high = m.mul(fraction, 1 / math.log(2))
    found = m.add(exponent, high)
    return f.log_special(t, x, found)


def log1p(t: Target, x: Register) -> Register:
    """log(u) with the rounding of u = 1 + x put back."""
    m = Maths(t, x)
    u = m.add(x, 1.0)
    lost = m.sub(m.sub(u, 1.0), x)
    found = m.sub(f.log(t, u), m.div(lost, u))
    found = m.where(m.above(x, 1e300), f.log(t, x), found)
    found = m.where(t.compare("ole", u, t.like(u, 0.0)), f.log(t, u), found)
    return m.where(m.below(m.magnitude(x), 2.0**-54), x, found)


def tanh(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    e = expm1(t, m.mul(f.clamp(t, m.magnitude(x), 0.0, 25.0), 2.0))
    return m.signed(m.div(e, m.add(e, 2.0)), x)


def _grown(t: Target, x: Register, lower: Callable[[Maths, Register], Register]) -> Register:
    """exp(|x|) / 2 where that is all that counts, `lower` of |x| elsewhere."""
    m = Maths(t, x)
    a = m.magnitude(x)
    half = f.exp(t, m.mul(a, 0.5))
    far = m.mul(m.mul(half, 0.5), half)
    return m.where(m.above(a, 25.0), far, lower(m, f.clamp(t, a, 0.0, 25.0)))


def sinh(t: Target, x: Register) -> Register:
    def near(m: Maths, a: Register) -> Register:
        e = expm1(t, a)
        return m.mul(m.add(e, m.div(e, m.add(e, 1.0))), 0.5)

    return Maths(t, x).signed(_grown(t, x, near), x)


def cosh(t: Target, x: Register) -> Register:
    def near(m: Maths, a: Register) -> Register:
        e = f.exp(t, a)
        return m.mul(m.add(e, m.div(1.0, e)), 0.5)

    return _grown(t, x, near)


def asinh(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    a = m.magnitude(x)
    near = f.clamp(t, a, 0.0, 1e9)
    square = m.mul(near, near)
    inside = m.add(near, m.div(square, m.add(1.0, m.sqrt(m.add(square, 1.0)))))
    far = m.add(f.log(t, a), math.log(2))
    return m.signed(m.where(m.above(a, 1e9), far, log1p(t, inside)), x)


def acosh(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    d = m.sub(f.clamp(t, x, 0.0, 1e9), 1.0)
    near = log1p(t, m.add(d, m.sqrt(m.mul(d, m.add(d, 2.0)))))
    found = m.where(m.above(x, 1e9), m.add(f.log(t, x), math.log(2)), near)
    return m.where(m.below(x, 1.0), math.nan, found)


def atanh(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    a = m.magnitude(x)
    inside = m.div(m.mul(a, 2.0), m.sub(1.0, a))
    return m.signed(m.mul(log1p(t, inside), 0.5), x)


def _atan(t: Target, a: Register) -> Register:
    """Of a in [0, 1]: by pi / 4 further where that is nearer to zero."""
    m = Maths(t, a)
    far = m.above(a, math.tan(math.pi / 8))
    z = m.where(far, m.div(m.sub(a, 1.0), m.add(a, 1.0)), a)
    square = m.mul(z, z)
    found = m.fma(m.mul(z, square), f.horner(t, square, ATAN[1:]), z)
    turned = m.add(m.add(found, PI_LOW / 4), math.pi / 4)
    return m.where(far, turned, found)


def atan2(t: Target, y: Register, x: Register) -> Register:
    """The angle of (x, y), with the signs and infinite cases of C's."""
    m = Maths(t, x)
    a, b = m.magnitude(x), m.magnitude(y)
    steep = m.above(b, a)
    low, high = m.where(steep, a, b), m.where(steep, b, a)
    ratio = m.div(low, high)
    ratio = m.where(m.same(low, math.inf), 1.0, m.where(m.same(high, 0.0), 0.0, ratio))
    angle = _atan(t, ratio)
    angle = m.where(steep, m.add(m.sub(PI_LOW / 2, angle), math.pi / 2), angle)
    left = m.below(m.signed(t.like(x, 1.0), x), 0.0)
    angle = m.where(left, m.add(m.sub(PI_LOW, angle), math.pi), angle)
    bad = t.compare("uno", x, y)
    return m.where(bad, math.nan, m.signed(angle, y))


def atan(t: Target, x: Register) -> Register:
    return atan2(t, x, t.like(x, 1.0))


def asin(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    return atan2(t, x, m.sqrt(m.mul(m.sub(1.0, x), m.add(1.0, x))))


def acos(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    return atan2(t, m.sqrt(m.mul(m.sub(1.0, x), m.add(1.0, x))), x)


def _erfc_far(t: Target, a: Register) -> Register:
    """Of a in [1, 28]."""
    m = Maths(t, a)
    q = m.div(m.sub(a, 2.0), m.add(a, 2.0))
    s = m.mul(m.sub(q, (MOST_Q + LEAST_Q) / 2), 2 / (MOST_Q - LEAST_Q))
    twice = m.mul(s, 2.0)
    one, two = t.like(a, 0.0), t.like(a, 0.0)
    for c in reversed(ERFC[1:]):
        one, two = m.add(m.fma(twice, one, m.sub(0.0, two)), c), one
    found = m.add(m.fma(s, one, m.sub(0.0, two)), ERFC[0])
    square = m.mul(a, a)
    e = f.exp(t, t.negate(square))
    e = m.fma(e, m.fma(t.negate(a), a, square), e)
    return m.div(m.mul(found, e), m.fma(a, 2.0, 1.0))


def _erf_near(t: Target, x: Register) -> Register:
    """Of |x| in [0, 1]."""
    m = Maths(t, x)
    near = f.clamp(t, x, -1.0, 1.0)
    return m.mul(near, f.horner(t, m.mul(near, near), ERF))


def erf(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    a = m.magnitude(x)
    far = m.signed(m.sub(1.0, _erfc_far(t, f.clamp(t, a, 1.0, 28.0))), x)
    return m.where(m.above(a, 1.0), far, _erf_near(t, x))


def erfc(t: Target, x: Register) -> Register:
    m = Maths(t, x)
    a = m.magnitude(x)
    far = _erfc_far(t, f.clamp(t, a, 1.0, 28.0))
    far = m.where(m.below(x, 0.0), m.sub(2.0, far), far)
    return m.where(m.above(a, 1.0), far, m.sub(1.0, _erf_near(t, x)))


def fmod(t: Target, x: Register, y: Register) -> Register:
    """The remainder of a lane, exact: of the integers that both are, taken some bits at a time."""
    if x.lanes > 1:
        found = Register("poison", x.kind, x.lanes)
        for lane in range(x.lanes):
            one = fmod(t, t.extract(x, lane), t.extract(y, lane))
            found = t.insert(found, one, lane)
        return found
    m = Maths(t, x)
    a, b = m.magnitude(x), m.magnitude(y)
    (top, e), (bottom, d) = _integer(t, a), _integer(t, b)
    bottom = t.select(t.compare("eq", bottom, t.like(bottom, 0)), t.like(bottom, 1), bottom)
    apart = t.binary("sub", e, d)
    ahead = t.compare("sgt", apart, t.like(apart, 0))
    left = t.select(ahead, apart, t.like(apart, 0))
    ten = t.like(left, 10)

    def further(k: Register, rest: Register, left: Register) -> list[Register]:
        by = t.select(t.compare("slt", left, ten), left, ten)
        moved = t.binary("shl", rest, t.convert("zext", by, "i64"))
        return [t.binary("urem", moved, bottom), t.binary("sub", left, by)]

    trips = t.binary("udiv", t.binary("add", left, t.like(left, 9)), ten)
    rest, _ = t.repeat(trips, [t.binary("urem", top, bottom), left], further)
    # 2^d in two factors, each of them normal: the product is exact
    half = t.binary("ashr", d, t.like(d, 1))
    value = t.convert("uitofp", rest, "f64")
    for part in (half, t.binary("sub", d, half)):
        value = m.mul(value, f.power_of_two(t, t.convert("sext", part, "i64")))
    value = m.where(m.below(a, b), a, value)
    bad = t.binary("or", t.compare("uno", x, y), m.same(a, math.inf))
    bad = t.binary("or", bad, m.same(b, 0.0))
    return m.where(bad, math.nan, m.signed(value, x))


def _integer(t: Target, a: Register) -> tuple[Register, Register]:
    """(n, e) of a finite a >= 0: a = n 2^e, n below 2^53."""
    bits = t.convert("bitcast", a, "i64")
    biased = t.convert("trunc", t.binary("lshr", bits, t.like(bits, 52)), "i32")
    fraction = t.binary("and", bits, t.like(bits, 2**52 - 1))
    small = t.compare("eq", biased, t.like(biased, 0))
    whole = t.binary("or", fraction, t.like(fraction, 2**52))
    n = t.select(small, fraction, whole)
    biased = t.select(small, t.like(biased, 1), biased)
    return n, t.binary("sub", biased, t.like(biased, 1075))


FUNCTIONS: dict[str, Callable[..., Register]] = {
    "exp": f.exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": f.log,
    "log2": log2,
    "log1p": log1p,
    "tanh": tanh,
    "sinh": sinh,
    "cosh": cosh,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
    "atan2": atan2,
    "atan": atan,
    "asin": asin,
    "acos": acos,
    "erf": erf,
    "erfc": erfc,
    "fmod": fmod,
    "pow": f.power,
    "sin": f.sin,
    "cos": f.cos,
    "tan": f.tan,
}
"""All that the core's emitter asks of a C library."""
