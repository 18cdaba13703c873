"""Integers as bits in two's complement: logical functions, shifts, bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..definitions import builtin
from ..faults import too_big, wrong_type
from ..spending import limits
from ..values import Cons, Value
from .bounds import natural
from .defining import define, predicate, staged_operand


def _integer(name: str, x: Any) -> int:
    if x.__class__ is not int:
        raise wrong_type(name, x, "an integer")
    return int(x)


def _folded(name: str, start: int, fold: Callable[[int, int], int]) -> Callable[..., Value]:
    def call(*integers: Any) -> Value:
        staged = staged_operand(integers)
        if staged is not None:
            return staged.generic(name, integers)
        result = start
        for x in integers:
            result = fold(result, _integer(name, x))
        return result

    return call


def _binary(name: str, of: Callable[[int, int], int]) -> Callable[[Any, Any], Value]:
    return lambda a, b: of(_integer(name, a), _integer(name, b))


_FOLDED: tuple[tuple[str, int, Callable[[int, int], int], str], ...] = (
    ("logand", -1, lambda a, b: a & b, "Bits that all have."),
    ("logior", 0, lambda a, b: a | b, "Bits that any has."),
    ("logxor", 0, lambda a, b: a ^ b, "Bits that an odd number of them has."),
    ("logeqv", -1, lambda a, b: ~(a ^ b), "Bits in which an even number differs."),
)
for _name, _start, _fold, _doc in _FOLDED:
    define(_name, "(&rest integers)", _doc, _folded(_name, _start, _fold), staged=True)

_BINARY: tuple[tuple[str, Callable[[int, int], int], str], ...] = (
    ("lognand", lambda a, b: ~(a & b), "Not of logand."),
    ("lognor", lambda a, b: ~(a | b), "Not of logior."),
    ("logandc1", lambda a, b: ~a & b, "And of the first's complement with the second."),
    ("logandc2", lambda a, b: a & ~b, "And of the first with the second's complement."),
    ("logorc1", lambda a, b: ~a | b, "Or of the first's complement with the second."),
    ("logorc2", lambda a, b: a | ~b, "Or of the first with the second's complement."),
)
for _name, _of, _doc in _BINARY:
    define(_name, "(integer1 integer2)", _doc, _binary(_name, _of))


@builtin("lognot", "(integer)", staged=True)
def complement(integer: Any) -> Value:
    """All bits turned over."""
    staged = staged_operand((integer,))
    return staged.generic("lognot", (integer,)) if staged else ~_integer("lognot", integer)


@builtin("ash", "(integer count)", staged=True)
def shift(integer: Any, count: Any) -> Value:
    """The integer shifted left by count bits, right if count is negative."""
    staged = staged_operand((integer, count))
    if staged is not None:
        return staged.generic("ash", (integer, count))
    return shift_integer("ash", _integer("ash", integer), _integer("ash", count))


def shift_integer(name: str, n: int, count: int) -> int:
    if count <= 0:
        return n >> -count if -count < n.bit_length() else (-1 if n < 0 else 0)
    if n and n.bit_length() + count > limits().bits:
        raise too_big(name)
    return n << count if n else 0


@builtin("integer-length", "(integer)")
def integer_length(integer: Any) -> Value:
    """Bits needed without the sign."""
    n = _integer("integer-length", integer)
    return (~n if n < 0 else n).bit_length()


@builtin("logcount", "(integer)")
def bit_count(integer: Any) -> Value:
    """Ones of a non-negative integer, zeros of a negative one."""
    n = _integer("logcount", integer)
    return bin(~n if n < 0 else n).count("1")


predicate(
    "logbitp",
    "(index integer)",
    "Whether the bit of that index is one.",
    lambda index, n: _bit(natural("logbitp", index), _integer("logbitp", n)),
)
predicate(
    "logtest",
    "(integer1 integer2)",
    "Whether they share a one bit.",
    _binary("logtest", lambda a, b: a & b),
)


def _bit(index: int, n: int) -> bool:
    return bool(n >> min(index, n.bit_length() + 1) & 1)


_BOOLE: tuple[Callable[[int, int], int], ...] = (
    lambda a, b: 0,
    lambda a, b: -1,
    lambda a, b: a,
    lambda a, b: b,
    lambda a, b: ~a,
    lambda a, b: ~b,
    lambda a, b: a & b,
    lambda a, b: a | b,
    lambda a, b: a ^ b,
    lambda a, b: ~(a ^ b),
    lambda a, b: ~(a & b),
    lambda a, b: ~(a | b),
    lambda a, b: ~a & b,
    lambda a, b: a & ~b,
    lambda a, b: ~a | b,
    lambda a, b: a | ~b,
)
BOOLE_NAMES = """
BOOLE-CLR BOOLE-SET BOOLE-1 BOOLE-2 BOOLE-C1 BOOLE-C2 BOOLE-AND BOOLE-IOR BOOLE-XOR
BOOLE-EQV BOOLE-NAND BOOLE-NOR BOOLE-ANDC1 BOOLE-ANDC2 BOOLE-ORC1 BOOLE-ORC2
""".split()  # noqa: SIM905
"""Constants for `boole`, in the order of their values."""


@builtin("boole", "(operation integer1 integer2)")
def boole(operation: Any, integer1: Any, integer2: Any) -> Value:
    """The logical operation that a boole- constant names."""
    if operation.__class__ is not int or not 0 <= operation < len(_BOOLE):
        raise wrong_type("boole", operation, "one of the boole- constants")
    return _BOOLE[operation](_integer("boole", integer1), _integer("boole", integer2))


@builtin("byte", "(size position)")
def byte(size: Any, position: Any) -> Value:
    """A byte specifier: that many bits from that position up."""
    return Cons(natural("byte", size), natural("byte", position))


def _byte(name: str, spec: Any) -> tuple[int, int]:
    if spec.__class__ is not Cons:
        raise wrong_type(name, spec, "a byte specifier")
    return natural(name, spec.car), natural(name, spec.cdr)


@builtin("byte-size", "(bytespec)")
def byte_size(bytespec: Any) -> Value:
    """How many bits it covers."""
    return _byte("byte-size", bytespec)[0]


@builtin("byte-position", "(bytespec)")
def byte_position(bytespec: Any) -> Value:
    """Where it begins."""
    return _byte("byte-position", bytespec)[1]


@builtin("ldb", "(bytespec integer)")
def load_byte(bytespec: Any, integer: Any) -> Value:
    """The byte as an integer from its own bit 0."""
    size, position = _byte("ldb", bytespec)
    n = shift_integer("ldb", _integer("ldb", integer), -position)
    return n & (shift_integer("ldb", 1, size) - 1)


@builtin("mask-field", "(bytespec integer)")
def mask_field(bytespec: Any, integer: Any) -> Value:
    """The byte in its place, all other bits 0."""
    size, position = _byte("mask-field", bytespec)
    mask = shift_integer("mask-field", shift_integer("mask-field", 1, size) - 1, position)
    return _integer("mask-field", integer) & mask


@builtin("dpb", "(newbyte bytespec integer)")
def deposit_byte(newbyte: Any, bytespec: Any, integer: Any) -> Value:
    """The integer with its byte replaced by the low bits of newbyte."""
    size, position = _byte("dpb", bytespec)
    ones = shift_integer("dpb", 1, size) - 1
    low = _integer("dpb", newbyte) & ones
    kept = _integer("dpb", integer) & ~shift_integer("dpb", ones, position)
    return kept | shift_integer("dpb", low, position)


@builtin("deposit-field", "(newbyte bytespec integer)")
def deposit_field(newbyte: Any, bytespec: Any, integer: Any) -> Value:
    """The integer with its byte replaced by the same bits of newbyte."""
    size, position = _byte("deposit-field", bytespec)
    mask = shift_integer("deposit-field", shift_integer("deposit-field", 1, size) - 1, position)
    return (_integer("deposit-field", newbyte) & mask) | (
        _integer("deposit-field", integer) & ~mask
    )


predicate(
    "ldb-test",
    "(bytespec integer)",
    "Whether the byte has a one bit.",
    lambda bytespec, integer: load_byte(bytespec, integer) != 0,
)
