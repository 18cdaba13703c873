"""A page's prose in lines that a terminal shows whole; code, tables and headings stay.

Law: but for blanks at the ends of prose lines, the words and their order stay.
"""

from __future__ import annotations

from textwrap import fill

KEPT = ("|", "#", "<!--")
"""What a line that stays begins with."""


def fitted(text: str, columns: int) -> str:
    """Paragraphs and items of lists filled to so many columns."""
    out: list[str] = []
    block: list[str] = []
    fenced = False
    for line in text.splitlines():
        fence = line.startswith("```")
        if fence or fenced or not line.strip() or line.startswith(KEPT):
            out += [*_filled(block, columns), line]
            block = []
            fenced = fenced != fence
            continue
        if line.lstrip().startswith("- ") or (block and block[-1].endswith("  ")):
            out += _filled(block, columns)
            block = []
        block.append(line)
    return "\n".join([*out, *_filled(block, columns)])


def _filled(block: list[str], columns: int) -> list[str]:
    """One paragraph or item."""
    if not block:
        return []
    first = block[0]
    indent = first[: len(first) - len(first.lstrip())]
    under = indent + "  " * first.lstrip().startswith("- ")
    words = " ".join(line.strip() for line in block)
    return fill(
        words,
        columns,
        initial_indent=indent,
        subsequent_indent=under,
        break_long_words=False,
        break_on_hyphens=False,
    ).splitlines()
