"""Where text goes: the check output, or a string that is being made."""

from __future__ import annotations

from typing import Any

from .faults import claim_cells, wrong_type
from .spending import limits, spend
from .standard_variables import VARIABLES
from .values import NIL, String, T, Value
from .written import Written

WRITE_CELLS = 200
"""What a write costs beside its characters, as of a walk: a loop that prints ends in seconds."""


class StringOutputStream:
    """A stream whose text `get-output-stream-string` and `with-output-to-string` give."""

    __slots__ = ("pieces",)

    def __init__(self) -> None:
        self.pieces = Written(limits().cells)

    def text(self) -> str:
        """What was written, which is then forgotten."""
        found = "".join(self.pieces)
        self.pieces = Written(limits().cells)
        return found


class StringInputStream:
    """A stream that gives the characters of a string from `at` on."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0


class StringPieces:
    """Writes to the end of a string with a fill pointer."""

    __slots__ = ("string",)

    def __init__(self, string: String) -> None:
        self.string = string

    @property
    def column(self) -> int:
        written = self.string.data[: self.string.fill]
        for at, char in enumerate(reversed(written)):
            if char == "\n":
                return at
        return len(written)

    def append(self, text: str) -> None:
        claim_cells("a string with a fill pointer", (self.string.fill or 0) + len(text))
        self.string.data[self.string.fill :] = list(text)
        self.string.fill = len(self.string.data)
        self.string.dims = (self.string.fill,)


def pieces_of(name: str, stream: Any) -> Any:
    """What a stream designator appends to: nil is *standard-output*, t the check output."""
    if stream is NIL:
        stream = VARIABLES["*STANDARD-OUTPUT*"].value
    if isinstance(stream, StringOutputStream):
        return stream.pieces
    if isinstance(stream, String) and stream.fill is not None:
        return StringPieces(stream)
    if stream is not T:
        raise wrong_type(name, stream, "a stream")
    from .machine import current

    return current().output


def write_text(name: str, stream: Value, text: str) -> None:
    """Append text to a stream."""
    if text:
        spend(name, WRITE_CELLS + len(text))
        pieces_of(name, stream).append(text)
