"""Floats as ~F ~E ~G ~$ write them: the shortest digits of the double, rounded half up."""

from __future__ import annotations

import math

from ..records import NamedTuple
from .float_text import decimal_digits


def rounded(digits: str, point: int, places: int) -> tuple[str, int]:
    """0.DIGITS * 10**point to `places` digits after the decimal point."""
    keep = point + places
    if keep >= len(digits):
        return digits, point
    if keep < 0:
        return "0", 1
    up = digits[keep] >= "5"
    number = int(digits[:keep] or "0") + up
    text = str(number).rjust(keep, "0") if keep else str(number)
    if number == 0:
        return "0", 1
    return text, point + len(text) - keep


def _sign(x: float, at: bool) -> str:
    return "-" if math.copysign(1.0, x) < 0 else "+" if at else ""


def _split(digits: str, point: int) -> tuple[str, str]:
    """Digits before and after the decimal point; no leading zero before it."""
    if digits == "0":
        return "", ""
    if point <= 0:
        return "", "0" * -point + digits
    return digits[:point].ljust(point, "0"), digits[point:]


class Field(NamedTuple):
    """Width, fill and overflow character of a number's field."""

    width: int | None
    overflow: str | None
    pad: str

    def put(self, text: str) -> str:
        if self.width is None:
            return text
        if len(text) > self.width and self.overflow:
            return self.overflow * self.width
        return text.rjust(self.width, self.pad)


def fixed(x: float, places: int | None, scale: int, field: Field, at: bool) -> str:
    """~F: `places` digits after the point, as many as fit the width if None."""
    digits, point = decimal_digits(abs(x))
    if x:
        point += scale
    sign = _sign(x, at)
    if places is None and field.width is not None:
        room = field.width - len(sign) - 1 - max(point if x else 0, 0)
        places = max(0, min(room, max(len(digits) - point, 1)))
    if places is not None:
        digits, point = rounded(digits, point, places)
    whole, part = _split(digits, point)
    part = part.ljust(1 if places is None else places, "0")
    lead = "0" if not whole else ""
    if lead and part and field.width is not None and len(sign) + 2 + len(part) > field.width:
        lead = ""
    return field.put(f"{sign}{lead}{whole}.{part}")


def exponential(
    x: float,
    places: int | None,
    exponent_digits: int | None,
    scale: int,
    field: Field,
    mark: str,
    at: bool,
) -> str:
    """~E: `scale` digits before the point (zeros after it, if negative), then an exponent."""
    digits, point = decimal_digits(abs(x))
    sign = _sign(x, at)
    if places is None and field.width is not None:
        places = _room(field.width, sign, digits, point - scale, exponent_digits, scale)
    if places is not None:
        significant = places + 1 if scale > 0 else places + scale
        before = point
        digits, point = rounded(digits, point, max(significant, 0) - before)
    power = point - scale if x else 0
    body = _mantissa(digits, scale, places)
    text = str(abs(power)).rjust(exponent_digits or 1, "0")
    if exponent_digits and len(text) > exponent_digits and field.overflow and field.width:
        return field.overflow * field.width
    tail = f"{mark}{'-' if power < 0 else '+'}{text}"
    whole = sign + body + tail
    if body.startswith("0.") and field.width is not None and len(whole) > field.width:
        whole = sign + body[1:] + tail
    return field.put(whole)


def _room(
    width: int, sign: str, digits: str, power: int, exponent_digits: int | None, scale: int
) -> int:
    """Digits after the point that fit a width."""
    tail = 2 + max(exponent_digits or 1, len(str(abs(power))))
    room = width - len(sign) - 1 - tail - max(scale, 0)
    needed = max(len(digits) - max(scale, 0), 1) - min(scale, 0)
    return max(0, min(room, needed))


def _mantissa(digits: str, scale: int, places: int | None) -> str:
    if scale <= 0:
        part = "0" * -scale + digits
        return "0." + (part if places is None else part[:places].ljust(places, "0"))
    whole = digits[:scale].ljust(scale, "0")
    part = digits[scale:]
    size = 1 if places is None else places - scale + 1
    return whole + "." + (part if places is None else part[:size]).ljust(size, "0")


def general(
    x: float,
    places: int | None,
    exponent_digits: int | None,
    scale: int,
    field: Field,
    mark: str,
    at: bool,
) -> str:
    """~G: as ~F where the number fits, followed by the room of an exponent; else as ~E."""
    digits, point = decimal_digits(abs(x))
    n = point if x else 0
    room = exponent_digits + 2 if exponent_digits is not None else 4
    width = None if field.width is None else field.width - room
    if places is None:
        places = max(len(digits), min(n, 7))
    after = places - n
    if not 0 <= after <= places:
        return exponential(x, places, exponent_digits, scale, field, mark, at)
    return fixed(x, after, 0, field._replace(width=width), at) + " " * room


def money(x: float, places: int, before: int, field: Field, colon: bool, at: bool) -> str:
    """~$: `places` digits after the point and at least `before` before it."""
    digits, point = rounded(*decimal_digits(abs(x)), places)
    whole, part = _split(digits, point)
    body = f"{whole.rjust(before, '0')}.{part.ljust(places, '0')}"
    sign = _sign(x, at)
    width = field.width or 0
    if colon:
        return sign + body.rjust(width - len(sign), field.pad)
    return (sign + body).rjust(width, field.pad)
