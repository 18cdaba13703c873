"""Instructions that each thread does for itself: a row of the table a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sexpgpu_core.ir.ops.reference.elementwise import fma

from . import arithmetic as a
from .accesses import atomic, load, parameter_load, store
from .across import ballot, shuffle, sync_warp
from .conversion import convert
from .faults import PtxFault
from .memory import UNSIGNED
from .text import Instruction, Vector
from .values import Fetch, bits_of, fetch, packed, target, typed
from .wave import Wave

Array = Any
Step = Callable[[Wave], None]
Make = Callable[[Instruction], Step]


def _plain(compute: Callable[..., Array], kinds: tuple[str, ...] = (), allowed: str = "rn") -> Make:
    """All operands of the last word's type (or of `kinds`, "" meaning it), and the result too."""
    modes = frozenset(allowed.split())

    def make(ins: Instruction) -> Step:
        kind = ins.words[-1]
        if not set(ins.words[1:-1]) <= modes:
            raise PtxFault("unknown", ".".join(ins.words))
        given = kinds or ("",) * (len(ins.operands) - 1)
        reads = [typed(o, k or kind) for o, k in zip(ins.operands[1:], given)]
        name = target(ins.operands[0])
        if len(reads) != len(ins.operands) - 1:
            raise PtxFault("unknown", f"operands of {'.'.join(ins.words)}")

        return _computed(name, compute, reads)

    return make


def _computed(name: str, compute: Callable[..., Array], reads: list[Fetch]) -> Step:
    """A register of what is computed: written out by the number of operands, for speed."""
    x, y, z = (*reads, *reads[:1] * 2)[:3]

    def one(w: Wave) -> None:
        w.write(name, packed(compute(x(w))))

    def two(w: Wave) -> None:
        w.write(name, packed(compute(x(w), y(w))))

    def three(w: Wave) -> None:
        w.write(name, packed(compute(x(w), y(w), z(w))))

    def more(w: Wave) -> None:
        w.write(name, packed(compute(*(r(w) for r in reads))))

    return {1: one, 2: two, 3: three}.get(len(reads), more)


PRODUCTS: dict[str, Callable[..., Array]] = {
    "lo": np.multiply,
    "rn": np.multiply,
    "hi": a.high,
    "wide": a.widened,
}


def _multiply(ins: Instruction) -> Step:
    """mul and mad: .lo .hi .wide of integers, .rn of floats; mad adds in the result's width."""
    word, kind = ins.words[1], ins.words[-1]
    form = PRODUCTS.get(word)
    if len(ins.words) == 2:  # mul.f32 may be contracted by ptxas: the generator never writes it
        raise PtxFault("unknown", f"{'.'.join(ins.words)} says no rounding")
    adds = ins.words[0] == "mad"
    if form is None or len(ins.words) != 3 or (adds and kind[0] == "f"):
        raise PtxFault("unknown", ".".join(ins.words))
    reads = [typed(o, kind) for o in ins.operands[1:3]]
    wide = f"{kind[0]}{2 * bits_of(kind)}" if word == "wide" else kind
    name = target(ins.operands[0])
    if not adds:
        return _computed(name, form, reads)
    reads.append(typed(ins.operands[3], wide))
    return _computed(name, lambda x, y, z: form(x, y) + z, reads)


def _compare(ins: Instruction) -> Step:
    """setp: with one test and one or no predicate to combine with."""
    if len(ins.words) != 3:
        raise PtxFault("unknown", ".".join(ins.words))
    word, kind = ins.words[1:]
    if word.rstrip("u") not in a.COMPARE and word not in a.COMPARE:
        raise PtxFault("unknown", ".".join(ins.words))
    x, y = (typed(o, kind) for o in ins.operands[1:])
    into = ins.operands[0]
    if isinstance(into, Vector) and kind.endswith("x2"):
        return _compare_halves([target(o) for o in into.items], partial(a.compare, word), x, y)
    name = target(into)
    return lambda w: w.write(name, a.compare(word, x(w), y(w)))


def _compare_halves(names: list[str], test: Callable[..., Array], x: Fetch, y: Fetch) -> Step:
    """A predicate of the low halves, then one of the upper ones."""

    def step(w: Wave) -> None:
        found = test(x(w), y(w))
        for k, name in enumerate(names):
            w.write(name, found[:, k])

    return step


def _select(ins: Instruction) -> Step:
    bits = bits_of(ins.words[-1])
    x, y = (fetch(o, bits) for o in ins.operands[1:3])
    test = fetch(ins.operands[3], 1)
    name = target(ins.operands[0])
    return lambda w: w.write(name, np.where(test(w), x(w), y(w)))


def _move(ins: Instruction) -> Step:
    """Bits from place to place; a vector is parts of one register, the lowest first."""
    bits = bits_of(ins.words[-1])
    into, given = ins.operands
    if isinstance(into, Vector):
        return _apart(into, fetch(given, bits), bits // len(into.items))
    if isinstance(given, Vector):
        return _together(target(into), given, bits)
    name, read = target(into), fetch(given, bits)
    return lambda w: w.write(name, read(w))


def _apart(into: Vector, read: Callable[[Wave], Array], part: int) -> Step:
    names = [target(o) for o in into.items]
    kind = UNSIGNED[part]

    def step(w: Wave) -> None:
        whole = read(w)
        for k, name in enumerate(names):
            w.write(name, (whole >> whole.dtype.type(k * part)).astype(kind))

    return step


def _together(name: str, given: Vector, bits: int) -> Step:
    part = bits // len(given.items)
    reads = [fetch(o, part) for o in given.items]
    kind = UNSIGNED[bits]

    def step(w: Wave) -> None:
        found = np.zeros(1, kind)
        for k, read in enumerate(reads):
            found = found | (read(w).astype(kind) << kind(k * part))
        w.write(name, found)

    return step


def _funnel(ins: Instruction) -> Step:
    left, wrap = ins.words[1] == "l", ins.words[2] == "wrap"
    low, up, count = (fetch(o, 32) for o in ins.operands[1:])
    name = target(ins.operands[0])
    return lambda w: w.write(name, a.rotated(low(w), up(w), count(w), left, wrap))


def _logic3(ins: Instruction) -> Step:
    x, y, z = (fetch(o, 32) for o in ins.operands[1:4])
    name, table = target(ins.operands[0]), int(ins.operands[4].value)  # type: ignore[union-attr]
    return lambda w: w.write(name, a.logic3(x(w), y(w), z(w), table))


def _load(ins: Instruction) -> Step:
    return parameter_load(ins) if "param" in ins.words else load(ins)


def _negated(x: Array) -> Array:
    return -x if x.dtype.kind == "f" else (~x + x.dtype.type(1))


COUNT = ("", "u32")
INSTRUCTIONS: dict[str, Make] = {
    "add": _plain(np.add),
    "sub": _plain(np.subtract),
    "mul": _multiply,
    "mad": _multiply,
    "fma": _plain(fma),
    "div": _plain(a.quotient),
    "rem": _plain(a.remainder),
    "neg": _plain(_negated),
    "abs": _plain(np.abs),
    "sqrt": _plain(np.sqrt),
    "rcp": _plain(lambda x: x.dtype.type(1) / x),
    "min": _plain(a.lesser),
    "max": _plain(a.greater),
    "copysign": _plain(a.with_sign),
    "and": _plain(np.bitwise_and),
    "or": _plain(np.bitwise_or),
    "xor": _plain(np.bitwise_xor),
    "not": _plain(np.invert),
    "shl": _plain(a.shift_left, COUNT),
    "shr": _plain(a.shift_right, COUNT),
    "shf": _funnel,
    "prmt": _plain(a.permuted),
    "bfe": _plain(a.extracted, ("", "u32", "u32")),
    "bfi": _plain(a.inserted, ("", "", "u32", "u32")),
    "lop3": _logic3,
    "popc": _plain(a.population),
    "clz": _plain(a.leading),
    "brev": _plain(a.reversed_bits),
    "setp": _compare,
    "selp": _select,
    "mov": _move,
    "cvt": convert,
    "cvta": _move,
    "ld": _load,
    "st": store,
    "atom": atomic,
    "red": atomic,
    "shfl": shuffle,
    "vote": ballot,
    "bar.warp": sync_warp,
}


def step_of(ins: Instruction) -> Step:
    """What an instruction does to a wave. PtxFault (unknown) where there is no such one."""
    name = "bar.warp" if ins.words[:2] == ("bar", "warp") else ins.words[0]
    make = INSTRUCTIONS.get(name)
    if make is None:
        raise PtxFault("unknown", f"instruction {'.'.join(ins.words)}")
    return make(ins)
