"""What a verb answers and how it reaches stdout: text, or one JSON document."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import Any

from sexpgpu_core.records import NamedTuple

TEXT_BYTES = 2048
"""Most of a text answer by default; cut at whole lines."""


class Answer(NamedTuple):
    """`document` has `version` and `document`; `text` says the same to people."""

    document: dict[str, Any]
    text: str
    exit: int = 0


def document(kind: str, **keys: Any) -> dict[str, Any]:
    """A document of a kind: version first."""
    return {"version": 1, "document": kind, **keys}


def settle(as_json: bool) -> None:
    """Make stdout take every text: JSON is UTF-8 whatever the locale, and what the encoding of a
    text has not is written as an escape."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = "utf-8" if as_json else None
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")


def shown(text: str, slash: str = "\\") -> str:
    r"""Text as UTF-8 can hold it: `\xff` for a byte of a file's name that was none of UTF-8,
    `\ud800` for half of a pair."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return "".join(slash + _escape(c) if "\ud800" <= c <= "\udfff" else c for c in text)


def _escape(half: str) -> str:
    code = ord(half)
    return f"x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"u{code:04x}"


def dumps(value: Any) -> str:
    """JSON: indented on a terminal, compact elsewhere; never NaN, and always UTF-8."""
    layout: dict[str, Any] = {"indent": 1} if sys.stdout.isatty() else {"separators": (",", ":")}
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, **layout)
    return shown(text, r"\\")


def write(text: str) -> None:
    """To stdout, with a newline at its end. A reader that went away is no error."""
    try:
        text = shown(text)
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try to flush again at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def bounded(text: str, more: str, limit: int = 20) -> str:
    """The first 2 KB of whole lines, and what shows the rest; all of it where the limit is 0."""
    text = shown(text)
    if not limit or len(text.encode()) <= TEXT_BYTES:
        return text
    lines, kept, size = text.splitlines(), [], 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > TEXT_BYTES:
            break
        kept.append(line)
    return "\n".join([*kept, f"... {len(lines) - len(kept)} more lines: {more}"])


def cut(values: list[Any], limit: int) -> tuple[list[Any], int]:
    """The first `limit` values (0: all) and how many were left out."""
    shown = values[:limit] if limit else values
    return shown, len(values) - len(shown)
