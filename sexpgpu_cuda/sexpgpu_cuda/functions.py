"""Functions of f64 that the device has no instruction for, written as instructions.

To a few units in the last place over the range that f32 and the factors of a step need. Sine and
cosine lose digits from 1e8 on.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sexpgpu_core.kernels.target import Register, Target

LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
"""ln 2 in two parts: the first has zeros below, so that n times it is exact."""
TURN = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
"""Pi / 2 in three parts of 33 bits."""
MAGIC = 6755399441055744.0
"""1.5 x 2^52: adding it leaves the nearest integer in the low bits."""
LEAST, MOST = -745.2, 709.8


def horner(t: Target, x: Register, coefficients: list[float]) -> Register:
    """From the constant term up."""
    found = t.like(x, coefficients[-1])
    for c in reversed(coefficients[:-1]):
        found = t.fma(found, x, t.like(x, c))
    return found


def nearest(t: Target, x: Register, factor: float) -> tuple[Register, Register]:
    """The integer nearest to x factor, as f64 and as i64."""
    magic = t.like(x, MAGIC)
    shifted = t.binary("fadd", t.binary("fmul", x, t.like(x, factor)), magic)
    bits = t.convert("bitcast", shifted, "i64")
    low = t.binary("shl", bits, t.like(bits, 13))  # the sign of 51 bits
    return t.binary("fsub", shifted, magic), t.binary("ashr", low, t.like(bits, 13))


def power_of_two(t: Target, n: Register) -> Register:
    biased = t.binary("add", n, t.like(n, 1023))
    return t.convert("bitcast", t.binary("shl", biased, t.like(n, 52)), "f64")


def clamp(t: Target, x: Register, low: float, high: float) -> Register:
    """NaN stays."""
    x = t.select(t.compare("olt", x, t.like(x, low)), t.like(x, low), x)
    return t.select(t.compare("ogt", x, t.like(x, high)), t.like(x, high), x)


def exp(t: Target, x: Register) -> Register:
    near = clamp(t, x, LEAST - 1, MOST + 1)
    whole, n = nearest(t, near, 1 / math.log(2))
    r = t.fma(whole, t.like(x, -LN2_HIGH), near)
    r = t.fma(whole, t.like(x, -LN2_LOW), r)
    found = horner(t, r, [1 / math.factorial(k) for k in range(14)])
    found = scaled(t, found, n)
    return t.select(t.compare("olt", x, t.like(x, LEAST)), t.like(x, 0.0), found)


def scaled(t: Target, x: Register, n: Register) -> Register:
    """x 2^n in two steps, so that results that are denormal or inf come out right."""
    half = t.binary("ashr", n, t.like(n, 1))
    x = t.binary("fmul", x, power_of_two(t, half))
    return t.binary("fmul", x, power_of_two(t, t.binary("sub", n, half)))


def _mantissa(t: Target, x: Register) -> tuple[Register, Register]:
    """(m, e) with x = m 2^e, m in [sqrt 1/2, sqrt 2)."""
    tiny = t.compare("olt", x, t.like(x, 2.0**-1022))
    scaled = t.select(tiny, t.binary("fmul", x, t.like(x, 2.0**54)), x)
    bits = t.convert("bitcast", scaled, "i64")
    e = t.binary("sub", bits, t.like(bits, 0x3FE6A09E667F3BCD))
    e = t.binary("ashr", e, t.like(e, 52))
    m = t.convert("bitcast", t.binary("sub", bits, t.binary("shl", e, t.like(e, 52))), "f64")
    exponent = t.convert("sitofp", e, "f64")
    exponent = t.select(tiny, t.binary("fsub", exponent, t.like(x, 54.0)), exponent)
    return m, exponent


def _fraction(t: Target, m: Register) -> tuple[Register, Register, Register]:
    """log(m) as 2 s + z s tail, by 2 atanh(s) of s = (m - 1) / (m + 1): (s, z s, tail)."""
    one = t.like(m, 1.0)
    s = t.binary("fdiv", t.binary("fsub", m, one), t.binary("fadd", m, one))
    z = t.binary("fmul", s, s)
    return s, t.binary("fmul", z, s), horner(t, z, [2 / (2 * k + 1) for k in range(1, 11)])


def log_parts(t: Target, x: Register) -> tuple[Register, Register]:
    """(log of the mantissa, exponent) of x > 0."""
    m, exponent = _mantissa(t, x)
    s, cube, tail = _fraction(t, m)
    return t.fma(cube, tail, t.binary("fmul", s, t.like(x, 2.0))), exponent


def log(t: Target, x: Register) -> Register:
    m, exponent = _mantissa(t, x)
    s, cube, tail = _fraction(t, m)
    low = t.fma(cube, tail, t.binary("fmul", exponent, t.like(x, LN2_LOW)))
    low = t.binary("fadd", low, t.binary("fmul", s, t.like(x, 2.0)))
    return log_special(t, x, t.fma(exponent, t.like(x, LN2_HIGH), low))


def log_special(t: Target, x: Register, found: Register) -> Register:
    zero = t.like(x, 0.0)
    found = t.select(t.compare("olt", x, t.like(x, math.inf)), found, x)
    found = t.select(t.compare("ogt", x, zero), found, t.like(x, math.nan))
    found = t.select(t.compare("oeq", x, zero), t.like(x, -math.inf), found)
    return t.select(t.compare("uno", x, x), x, found)


def power(t: Target, x: Register, y: Register) -> Register:
    """exp(y log |x|), with the signs and exact cases of C's pow."""
    a = t.intrinsic("fabs", "f64", x)
    found = exp(t, t.binary("fmul", y, log(t, a)))
    whole = t.compare("oeq", t.intrinsic("trunc", "f64", y), y)
    half = t.binary("fmul", y, t.like(y, 0.5))
    odd = t.binary("and", whole, t.compare("une", t.intrinsic("trunc", "f64", half), half))
    below = t.compare("olt", x, t.like(x, 0.0))
    bad = t.binary("and", below, t.binary("xor", whole, t.like(whole, 1)))
    bad = t.binary("and", bad, t.compare("one", a, t.like(x, math.inf)))
    signed = t.intrinsic("copysign", "f64", found, x)
    found = t.select(odd, signed, found)
    found = t.select(bad, t.like(x, math.nan), found)
    one = t.like(x, 1.0)
    minus = t.binary("and", t.compare("oeq", x, t.like(x, -1.0)), _is_inf(t, y))
    found = t.select(minus, one, found)
    exact = t.binary("or", t.compare("oeq", y, t.like(y, 0.0)), t.compare("oeq", x, one))
    return t.select(exact, one, t.select(t.compare("oeq", y, one), x, found))


def _is_inf(t: Target, x: Register) -> Register:
    return t.compare("oeq", t.intrinsic("fabs", "f64", x), t.like(x, math.inf))


SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
COS = [(-1) ** k / math.factorial(2 * k) for k in range(9)]


def _circle(quarter: int) -> Callable[..., Register]:
    """The sine, a quarter turn further for the cosine."""

    def lower(t: Target, x: Register) -> Register:
        whole, n = nearest(t, clamp(t, x, -(2.0**50), 2.0**50), 2 / math.pi)
        r = x
        for part in TURN:
            r = t.fma(whole, t.like(x, -part), r)
        z = t.binary("fmul", r, r)
        s, c = t.binary("fmul", horner(t, z, SIN), r), horner(t, z, COS)
        n = t.binary("add", n, t.like(n, quarter))
        odd = t.compare("ne", t.binary("and", n, t.like(n, 1)), t.like(n, 0))
        found = t.select(odd, c, s)
        turned = t.compare("ne", t.binary("and", n, t.like(n, 2)), t.like(n, 0))
        found = t.select(turned, t.negate(found), found)
        if not quarter:
            found = t.select(t.compare("oeq", x, t.like(x, 0.0)), x, found)  # -0 too
        return t.select(_is_inf(t, x), t.like(x, math.nan), found)

    return lower


sin, cos = _circle(0), _circle(1)


def tan(t: Target, x: Register) -> Register:
    return t.binary("fdiv", sin(t, x), cos(t, x))
