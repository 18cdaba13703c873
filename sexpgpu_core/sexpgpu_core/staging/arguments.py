"""Arguments of tensor builtins that are ordinary values: shapes, axes, dtypes, choices, flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics import nearest, problem
from ..evaluator.builtins.listing import proper
from ..evaluator.values import NIL, Cons, Staged, String, Symbol, Value
from ..ir.ops.shapes import axes_hint
from ..ir.types import DTYPES
from .faults import describe
from .promote import integer

Shape = tuple[int, ...]


def integers(name: str, what: str, value: Value) -> Shape:
    """A list of integers, or one."""
    if value.__class__ is int:
        return (value,)
    if value is NIL or value.__class__ is Cons:
        return tuple(integer(name, what, v) for v in proper(name, value))
    if isinstance(value, Staged):
        raise value.refuse(f"the {what} of {name}")
    raise problem(
        "E-TYPE",
        f"{what} of {name} is a list of integers, not {describe(value)}",
        hint="a list in a call is made: (list a b) or '(0 1)",
        wanted="list of integers",
    )


def sizes(name: str, value: Value) -> Shape:
    """A shape: sizes from 0."""
    found = integers(name, "shape", value)
    for size in found:
        if size < 0:
            raise problem("E-SHAPE-ARGUMENT", f"{name}: size {size} in shape {shape_text(found)}")
    return found


def shape_text(shape: Sequence[int]) -> str:
    return "(" + " ".join(map(str, shape)) + ")"


def axis(name: str, value: Value, rank: int) -> int:
    """One axis, counted from the front. E-SHAPE-AXIS."""
    at = integer(name, "axis", value)
    if not -rank <= at < rank:
        raise problem(
            "E-SHAPE-AXIS",
            f"{name}: axis {at} of a tensor with {rank} axes",
            hint=axes_hint(rank),
            axis=at,
            rank=rank,
        )
    return at % rank


def axes(name: str, value: Value, rank: int) -> Shape:
    """Ascending axes; nil is all of them."""
    if value is NIL:
        return tuple(range(rank))
    found = sorted(axis(name, v, rank) for v in integers(name, "axis", value))
    if len(set(found)) != len(found):
        raise problem(
            "E-SHAPE-AXIS",
            f"{name}: an axis is named twice in {shape_text(integers(name, 'axis', value))}",
            hint="each axis once; negative ones count from the end",
        )
    return tuple(found)


USUAL = {
    "float": "f32", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "half": "f16",
    "double": "f64", "float64": "f64", "int": "i32", "int32": "i32", "int64": "i64",
    "long": "i64", "int8": "i8", "uint8": "u8", "byte": "u8", "boolean": "bool",
}  # fmt: skip
"""Names of dtypes elsewhere and ours."""


def dtype(name: str, value: Value, default: str) -> str:
    """A dtype from its keyword; nil is the default."""
    if value is NIL:
        return default
    found = value.name.lower() if value.__class__ is Symbol and value.keyword else None
    if found in DTYPES:
        return found
    said = found or (value.text().lower() if isinstance(value, String) else "")
    near = said if said in DTYPES else USUAL.get(said) or nearest(said, DTYPES)
    hint = f"did you mean :{near}?" if near else "dtypes: " + " ".join(f":{d}" for d in DTYPES)
    written = f":{found}" if found else f'"{value.text()}"' if said else None
    raise problem("E-DTYPE-ARGUMENT", f"{name}: {describe(value)} is no dtype", hint=hint,
                  written=written, nearest=f":{near}" if near else None)  # fmt: skip


def choice(name: str, what: str, value: Value, known: Sequence[str]) -> str:
    """A keyword out of a few, without its colon; E-TYPE names the nearest."""
    found = value.name.lower() if value.__class__ is Symbol else None
    if found in known:
        return found  # type: ignore[return-value]
    near = nearest(found or "", known)
    hint = f"did you mean :{near}?" if near else "one of " + " ".join(f":{k}" for k in known)
    raise problem("E-TYPE", f"{what} of {name} is {describe(value)}", hint=hint, wanted=hint)


def flag(value: Any) -> bool:
    """Truth of Lisp."""
    return value is not NIL


def name_text(value: Value) -> str | None:
    """A name given as a string or symbol; None for nil."""
    if value is NIL or value is None:
        return None
    if isinstance(value, String):
        return value.text()
    if value.__class__ is Symbol:
        return str(value.name.lower())
    raise problem("E-TYPE", f"a name is a string, not {describe(value)}", wanted="string")


def of_trained(frozen: bool, **options: Value) -> None:
    """E-OPTION-VALUE of what says how parameters are trained, where they are not."""
    said = [f":{name}" for name, value in options.items() if value is not NIL]
    if frozen and said:
        told = f"group: {said[0]} is of a group that is trained, and this one is frozen"
        raise problem("E-OPTION-VALUE", told, hint=f"leave {said[0]} out", option=said[0])


def kept_in(frozen: bool, dtype: Value) -> str | None:
    """In what frozen parameters are kept; E-OPTION-VALUE of those that are trained."""
    if dtype is NIL:
        return None
    if not frozen:
        raise problem(
            "E-OPTION-VALUE",
            "group: :dtype says in what a frozen group is kept, and this one is trained",
            hint="(group selector :frozen :dtype :bf16)",
            option=":dtype",
        )
    return choice("group", "dtype", dtype, ("f32", "bf16", "f16"))
