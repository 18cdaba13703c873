"""What a kernel can do wrong, with its place: a mistake of the code generator, not of a user."""

from __future__ import annotations


class PtxFault(Exception):
    """`kind`: parse unknown bounds alignment race barrier divergence shared width value."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.place = ""

    def at(self, kernel: str, line: int, source: str) -> PtxFault:
        """The same, with its place; whoever is nearest says it."""
        if not self.place:
            self.place = f"{kernel}, line {line}: {source}"
        return self

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" + (f"\n  {self.place}" if self.place else "")
