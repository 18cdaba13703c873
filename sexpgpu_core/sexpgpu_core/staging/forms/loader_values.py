"""The values of a loader's clauses: slots to what the declaration keeps, each of its type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...diagnostics import problem
from ...evaluator.values import NIL, String, T
from ...experiment.declarations import Windows
from ...ir.types import DTYPES
from ..syntax import Slot


def filled(value: Any) -> Any:
    if isinstance(value, Slot):
        return value.python()
    if isinstance(value, (list, tuple)):
        return tuple(filled(v) for v in value)
    return value


def made_method(read: Any) -> Any:
    """A method and the seed of its hash, or its field."""
    if read is None or not isinstance(read[1], Slot):
        return read
    return read[0], read[1].integer()


def made_dtype(slot: Slot | None) -> str | None:
    return None if slot is None else ":" + slot.choice(DTYPES)


def made_filling(slots: Mapping[str, Slot]) -> dict[str, Any]:
    """`:missing`, a number, and `:hash`, the seed of a hash."""
    read = {"missing": Slot.number, "hash": Slot.integer}
    found = {}
    for key, slot in slots.items():
        found[key] = read[key](slot)  # type: ignore[operator]
        if key == "missing" and slot.value.__class__ is int:
            found[key] = slot.value
    return found


def marked(slot: Slot) -> Any:
    """What a field is compared with: a number, t or nil."""
    return slot.python() if slot.value in (T, NIL) or slot.value.__class__ is int else slot.number()


def made_ranges(read: Any) -> tuple[tuple[float, float], ...]:
    if read is None:
        return ((0.0, 1.0),)
    if isinstance(read, Slot):
        given = read.python()
        if not isinstance(given, tuple) or not given:
            raise read.refuse("two fractions, as (0 0.9)")
        pairs = list(given) if isinstance(given[0], tuple) else [given]
        span = read.span
    else:
        pairs = [(a.number(), b.number()) for a, b in read]
        span = read[0][0].span
    found: list[tuple[float, float]] = []
    for low, high in pairs:
        if not 0 <= low <= high <= 1:
            raise problem(
                "E-OPTION-VALUE",
                f":split ({low:g} {high:g}) is no part of 0 to 1",
                hint=":split (0 0.9)",
            ).locate(span)
        twice = [f"({a:g} {b:g})" for a, b in found if a < high and low < b]
        if low < high and twice:
            raise problem(
                "E-OPTION-VALUE",
                f":split has ({low:g} {high:g}) and {twice[0]}, which share examples",
                hint="ranges of one stage lie apart, as ((0 0.2) (0.4 1))",
                option="split",
            ).locate(span)
        if low < high:
            found.append((float(low), float(high)))
    if not found:
        raise problem(
            "E-OPTION-VALUE", ":split leaves no example", hint="an empty range stands beside others"
        ).locate(span)
    return tuple(found)


def made_maps(maps: Sequence[tuple[str, Slot]]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, slot.function()) for name, slot in maps)


def made_windows(slots: Mapping[str, Slot]) -> Windows:
    size = slots["size"].integer(1)
    stride = slots["stride"].integer(1) if "stride" in slots else size
    made = Windows(
        size,
        stride,
        _made_documents(slots["documents"]) if "documents" in slots else None,
        slots["pack"].flag() if "pack" in slots else False,
        slots["pad"].integer(0, 2**31 - 1) if "pad" in slots else 0,
        _made_short(slots),
        slots["shift"].flag() if "shift" in slots else False,
    )
    _of_documents(slots)
    return made


def _of_documents(slots: Mapping[str, Slot]) -> None:
    """E-OPTION-VALUE of what says how documents are cut where windows know none."""
    known = ("pack", "documents")
    if any(k in slots and slots[k].value is not NIL for k in known):
        return
    for key in ("short", "pad"):
        if key in slots:
            raise problem(
                "E-OPTION-VALUE",
                f":{key} is of documents, and these windows are cut anywhere",
                hint=":documents t, or the token that ends a document, goes with it",
                option=key,
            ).locate(slots[key].span)


def _made_documents(slot: Slot) -> Any:
    """t, a token, or the text of one."""
    if slot.value is T or slot.value is NIL:
        return slot.python()
    if isinstance(slot.value, String):
        return slot.text()
    if slot.value.__class__ is not int:
        raise slot.refuse("t, a token or the text that ends a document")
    return slot.integer(0, 2**31 - 1)


def _made_short(slots: Mapping[str, Slot]) -> Any:
    if "keep-if" in slots:
        return "keep-if", slots["keep-if"].integer(1)
    if "short" not in slots:
        return None
    name = slots["short"].choice(("drop", "pad", "keep-if"))
    if name == "keep-if":
        raise slots["short"].refuse("a number behind it: :short :keep-if 4")
    return name
