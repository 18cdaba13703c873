"""Sources and spans: a place in a text as code-point offsets; lines and columns on demand."""

from __future__ import annotations

from bisect import bisect_right

from .records import NamedTuple


class Source:
    """One text that was read. `name` is what diagnostics show (a path with `/`, or `-`)."""

    __slots__ = ("_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None

    @property
    def line_starts(self) -> list[int]:
        """Offset of the first character of every line."""
        if self._starts is None:
            starts = [0]
            find = self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._starts = starts
        return self._starts

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (in code points) of an offset."""
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """Text of a 1-based line, without its newline."""
        starts = self.line_starts
        start = starts[line - 1]
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


class Span(NamedTuple):
    """Half-open range of code points of a source."""

    source: Source
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    def json(self) -> dict[str, int]:
        """The flat span of `65-contracts` A3."""
        line, column = self.source.position(self.start)
        end_line, end_column = self.source.position(self.end)
        return {
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "offset": self.start,
            "end_offset": self.end,
        }

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"
