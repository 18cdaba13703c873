"""Random tensors: Philox4x32-10 by site (45.14), a function of key, place and step alone.

Operands, scalar integers: step, and optionally the global row of the first row, and the number of
the trip of the loops around (0).
Attributes: site, domain, seed, shape, dtype; batch-axis (absent: rows are those of axis 0, which
then are never offset), row-offset (0). column = linear index over the other axes,
word = column mod 4.
"""

from __future__ import annotations

from ..operation import Attributes, Fusion, Precision
from ..types import Type
from .op import Infer, Op, Types, move_cost
from .shapes import argument, check_axis, check_count, want_float, want_integer


def _checked(op: Op, operands: Types, attributes: Attributes, dtype: str) -> Types:
    check_count(op, operands, 1, 2, 3)
    for t in operands:
        want_integer(op, t.dtype)
        if t.shape:
            raise argument(op, operands, "step, row and trip are scalars")
    shape = attributes["shape"]
    if attributes.get("batch-axis") is not None:
        check_axis(op, attributes["batch-axis"], len(shape))
    return (Type(dtype, shape),)


def _fixed(dtype: str) -> Infer:
    return lambda op, operands, attributes: _checked(op, operands, attributes, dtype)


def _float(op: Op, operands: Types, attributes: Attributes) -> Types:
    dtype = attributes["dtype"]
    want_float(op, dtype)
    return _checked(op, operands, attributes, dtype)


def _row(name: str, infer: Infer, doc: str) -> Op:
    return Op(
        name,
        "random",
        Fusion.LEAF,
        Precision.EXACT,
        infer,
        doc + " Gradient: zero.",
        "zero",
        cost=move_cost,
        random=True,
    )


ROWS = [
    _row("random-bits", _fixed("u32"), "u32: the words themselves."),
    _row(
        "random-uniform",
        _float,
        "[0, 1) by 24 bits: (bits >> 8) 2^-24 in f32, cast to attribute dtype.",
    ),
    _row(
        "random-normal",
        _float,
        "Standard normal, Box-Muller in f32 on words (0 1) and (2 3) of a counter: "
        "r = sqrt(-2 log(((a >> 8) + 1) 2^-24)), t = (b >> 8) 2^-24 turns; the even word's place "
        "gets r cos t, the odd one's r sin t, by the steps of ir.box_muller, so that every device "
        "draws the same bits. Cast to attribute dtype.",
    ),
    _row(
        "random-bernoulli",
        _fixed("bool"),
        "True where the uniform number of the place is < attribute p (a float, as f32).",
    ),
]
