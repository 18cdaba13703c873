"""Philox4x32-10 in lanes: the random numbers of 45.14, one word a lane."""

from __future__ import annotations

from .target import Register, Target

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10


def philox(t: Target, arguments: list[Register]) -> Register:
    """Word `column mod 4` of counter (column div 4, row, step, iteration). i32 registers.

    Arguments: column, row, step, iteration, key low, key high.
    """
    column, row, step, iteration, low, high = arguments
    word = t.binary("and", column, t.like(column, 3))
    counter = [t.binary("lshr", column, t.like(column, 2)), row, step, iteration]
    keys = [low, high]
    for number in range(ROUNDS):
        if number:
            keys = [t.binary("add", k, t.like(k, w)) for k, w in zip(keys, WEYL)]
        counter = _round(t, counter, keys)
    odd = t.compare("ne", t.binary("and", word, t.like(word, 1)), t.like(word, 0))
    upper = t.compare("uge", word, t.like(word, 2))
    pairs = [t.select(odd, counter[i + 1], counter[i]) for i in (0, 2)]
    return t.select(upper, pairs[1], pairs[0])


def _round(t: Target, counter: list[Register], keys: list[Register]) -> list[Register]:
    high0, low0 = _product(t, counter[0], MULTIPLIERS[0])
    high1, low1 = _product(t, counter[2], MULTIPLIERS[1])
    first = t.binary("xor", t.binary("xor", high1, counter[1]), keys[0])
    third = t.binary("xor", t.binary("xor", high0, counter[3]), keys[1])
    return [first, low1, third, low0]


def _product(t: Target, x: Register, factor: int) -> tuple[Register, Register]:
    """High and low 32 bits of a product."""
    wide = t.convert("zext", x, "i64")
    product = t.binary("mul", wide, t.like(wide, factor))
    high = t.convert("trunc", t.binary("lshr", product, t.like(product, 32)), "i32")
    return high, t.convert("trunc", product, "i32")
