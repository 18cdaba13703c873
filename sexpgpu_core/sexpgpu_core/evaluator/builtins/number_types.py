"""What kind of number it is, and turning one kind into another. Every float is a double."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..definitions import builtin, core_symbol
from ..faults import wrong_type
from ..numeric import fraction, is_number, ratio, to_float
from ..values import MultipleValues, Ratio, Value
from .bits import BOOLE_NAMES
from .defining import define, predicate
from .listing import list_from

for _name, _kinds, _doc in (
    ("numberp", (int, float, Ratio), "Whether it is a number."),
    ("realp", (int, float, Ratio), "Whether it is a real number."),
    ("complexp", (), "Whether it is a complex number: never."),
    ("rationalp", (int, Ratio), "Whether it is an integer or a ratio."),
    ("integerp", (int,), "Whether it is an integer."),
    ("floatp", (float,), "Whether it is a float."),
):
    predicate(_name, "(object)", _doc, lambda x, kinds=_kinds: x.__class__ in kinds)


@builtin("float", "(number &optional prototype)")
def float_of(number: Any, prototype: Any = 0.0) -> Value:
    """The nearest double."""
    if not is_number(number):
        raise wrong_type("float", number, "a real number")
    if prototype.__class__ is not float:
        raise wrong_type("float", prototype, "a float")
    return to_float("float", number)


def _finite(name: str, x: Any) -> Any:
    if not is_number(x) or (x.__class__ is float and not math.isfinite(x)):
        raise wrong_type(name, x, "a real number")
    return x


@builtin("rational", "(number)")
def rational(number: Any) -> Value:
    """The rational of exactly that value."""
    return ratio(*fraction(_finite("rational", number)))


@builtin("rationalize", "(number)")
def rationalize(number: Any) -> Value:
    """The simplest rational that has the same double as its nearest."""
    if _finite("rationalize", number).__class__ is not float:
        return number
    if number < 0:
        return ratio(*_negated(fraction(rationalize(-number))))
    return _simplest(number)


def _negated(parts: tuple[int, int]) -> tuple[int, int]:
    return -parts[0], parts[1]


def _simplest(x: float) -> Value:
    """The rational of least denominator between the halves to the next doubles of x >= 0."""
    significand, exponent = math.frexp(x)
    whole, exponent = int(math.ldexp(significand, 53)), exponent - 53
    if whole == 0 or exponent >= 0:
        return whole << max(exponent, 0)
    unit = 1 << (1 - exponent)
    low, high = (2 * whole - 1, unit), (2 * whole + 1, unit)
    before, here = (0, 1), (1, 0)
    while True:
        q = -(-low[0] // low[1])
        if q * high[1] < high[0]:
            return ratio(q * here[0] + before[0], q * here[1] + before[1])
        q -= 1
        before, here = here, (q * here[0] + before[0], q * here[1] + before[1])
        low, high = (high[1], high[0] - q * high[1]), (low[1], low[0] - q * low[1])


def _float(name: str, x: Any) -> float:
    if x.__class__ is not float:
        raise wrong_type(name, x, "a float")
    return float(x)


@builtin("decode-float", "(float)")
def decode_float(number: Any) -> Value:
    """Significand in [1/2, 1), exponent of 2, and sign."""
    x = _float("decode-float", number)
    significand, exponent = math.frexp(abs(x))
    return MultipleValues((significand, exponent, math.copysign(1.0, x)))


@builtin("integer-decode-float", "(float)")
def integer_decode_float(number: Any) -> Value:
    """Significand as an integer of 53 bits, exponent of 2, and sign."""
    x = _float("integer-decode-float", number)
    significand, exponent = math.frexp(abs(x))
    sign = -1 if math.copysign(1.0, x) < 0 else 1
    return MultipleValues((int(significand * 2.0**53), exponent - 53 if x else 0, sign))


@builtin("scale-float", "(float exponent)")
def scale_float(number: Any, exponent: Any) -> Value:
    """The float times 2 to the exponent."""
    if exponent.__class__ is not int:
        raise wrong_type("scale-float", exponent, "an integer")
    x = _float("scale-float", number)
    return x if x == 0 else to_float("scale-float", _scaled(x, exponent))


def _scaled(x: float, exponent: int) -> Value:
    n, d = x.as_integer_ratio()
    shift = max(-4000, min(4000, exponent))
    return ratio(n << shift, d) if shift >= 0 else ratio(n, d << -shift)


@builtin("float-sign", "(float1 &optional float2)")
def float_sign(float1: Any, float2: Any = None) -> Value:
    """1.0 or the magnitude of float2, with the sign of float1."""
    magnitude = 1.0 if float2 is None else abs(_float("float-sign", float2))
    return math.copysign(magnitude, _float("float-sign", float1))


_CONSTANT_OF_FLOATS: tuple[tuple[str, Callable[[Any], Value], str], ...] = (
    ("float-radix", lambda x: 2, "The base of floats: 2."),
    ("float-digits", lambda x: 53, "Bits of a float's significand: 53."),
    ("float-precision", lambda x: 53 if x else 0, "Significant bits: 53, or 0 of zero."),
)
for _name, _of, _doc in _CONSTANT_OF_FLOATS:
    define(_name, "(float)", _doc, lambda x, n=_name, of=_of: of(_float(n, x)))

_LAMBDA_WORDS = (
    "&ALLOW-OTHER-KEYS",
    "&AUX",
    "&BODY",
    "&ENVIRONMENT",
    "&KEY",
    "&OPTIONAL",
    "&REST",
    "&WHOLE",
)
CONSTANTS: dict[str, Value] = {
    "PI": math.pi,
    "MOST-POSITIVE-FIXNUM": (1 << 62) - 1,
    "MOST-NEGATIVE-FIXNUM": -(1 << 62),
    "ARRAY-DIMENSION-LIMIT": 10_000_000,
    "ARRAY-TOTAL-SIZE-LIMIT": 10_000_000,
    "ARRAY-RANK-LIMIT": 64,
    "CALL-ARGUMENTS-LIMIT": 1_000_000,
    "LAMBDA-PARAMETERS-LIMIT": 1_000_000,
    "MULTIPLE-VALUES-LIMIT": 1_000_000,
    "CHAR-CODE-LIMIT": 0x110000,
    "INTERNAL-TIME-UNITS-PER-SECOND": 1_000_000,
}
"""The standard's constant variables."""
for _float_type in ("SHORT", "SINGLE", "DOUBLE", "LONG"):
    CONSTANTS |= {
        f"MOST-POSITIVE-{_float_type}-FLOAT": 1.7976931348623157e308,
        f"MOST-NEGATIVE-{_float_type}-FLOAT": -1.7976931348623157e308,
        f"LEAST-POSITIVE-{_float_type}-FLOAT": 5e-324,
        f"LEAST-NEGATIVE-{_float_type}-FLOAT": -5e-324,
        f"LEAST-POSITIVE-NORMALIZED-{_float_type}-FLOAT": 2.2250738585072014e-308,
        f"LEAST-NEGATIVE-NORMALIZED-{_float_type}-FLOAT": -2.2250738585072014e-308,
        f"{_float_type}-FLOAT-EPSILON": 1.1102230246251568e-16,
        f"{_float_type}-FLOAT-NEGATIVE-EPSILON": 5.551115123125784e-17,
    }
CONSTANTS["LAMBDA-LIST-KEYWORDS"] = list_from([core_symbol(word) for word in _LAMBDA_WORDS])
CONSTANTS |= {name: code for code, name in enumerate(BOOLE_NAMES)}
for _name, _value in CONSTANTS.items():
    _symbol = core_symbol(_name)
    _symbol.value = _value
    _symbol.constant = _symbol.special = True
