"""`(windows n ...)` of a loader or a stage: its slots' values as a declaration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...experiment.declarations import Windows
from ..syntax import Slot


def made_windows(slots: Mapping[str, Slot]) -> Windows:
    size = slots["size"].integer(1)
    stride = slots["stride"].integer(1) if "stride" in slots else size
    return Windows(
        size,
        stride,
        _made_documents(slots["documents"]) if "documents" in slots else None,
        slots["pack"].flag() if "pack" in slots else False,
        slots["pad"].integer(0) if "pad" in slots else 0,
        _made_short(slots),
        slots["shift"].flag() if "shift" in slots else False,
    )


def _made_documents(slot: Slot) -> Any:
    """t, a token, or the text of one."""
    found = slot.python()
    if (found is not None and found.__class__ not in (bool, int, str)) or _is_keyword(found):
        raise slot.refuse("t, a token or the text that ends a document")
    return found


def _is_keyword(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(":")


def _made_short(slots: Mapping[str, Slot]) -> Any:
    if "keep-if" in slots:
        return "keep-if", slots["keep-if"].integer(1)
    return slots["short"].choice(("drop", "pad")) if "short" in slots else None
