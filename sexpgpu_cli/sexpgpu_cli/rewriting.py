"""Files of a user replaced whole or not at all, and what would change in them as a diff."""

from __future__ import annotations

import difflib
import os
from pathlib import Path


def replace(target: Path, data: bytes) -> None:
    """Keeps the file's mode and links to it. OSError where it is refused, or is no file."""
    from sexpgpu_core.checkpoint.disk import replaceable

    target = replaceable(target)
    beside = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        beside.write_bytes(data)
        beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def difference(name: str, before: str, after: str) -> str:
    """A unified diff."""
    name = name.lstrip("/")
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
    )
    return "".join(_marked(line) for line in lines)


def _marked(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
