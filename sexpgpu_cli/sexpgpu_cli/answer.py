"""What a verb answers and how it reaches stdout: text, or one JSON document."""

from __future__ import annotations

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


def dumps(value: Any) -> str:
    """JSON: indented on a terminal, compact elsewhere; never NaN."""
    if sys.stdout.isatty():
        return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=1)
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def write(text: str) -> None:
    """To stdout, with a newline at its end. A reader that went away is no error."""
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try to flush again at exit and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def bounded(text: str, more: str, limit: int = 20) -> str:
    """The first 2 KB of whole lines, and what shows the rest; all of it where the limit is 0."""
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
