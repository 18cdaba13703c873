"""Pieces of text in the order in which they were written, and where on its line the next begins."""

from __future__ import annotations

from ..diagnostics import problem


class Written(list[str]):
    """`column`: characters since the last newline; `size`: of all, at most `limit`."""

    __slots__ = ("column", "limit", "size")

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.column = 0
        self.size = 0

    def append(self, text: str) -> None:
        """E-LIMIT-CELLS where all would be too long."""
        self.size += len(text)
        if self.size > self.limit:
            message = f"over {self.limit:,} characters were written"
            raise problem("E-LIMIT-CELLS", message, limit=self.limit)
        newline = text.rfind("\n")
        self.column = self.column + len(text) if newline < 0 else len(text) - newline - 1
        super().append(text)
