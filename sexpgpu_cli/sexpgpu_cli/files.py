"""Files named on the command line to sources; a wrong name says the nearest."""

from __future__ import annotations

import sys
from pathlib import Path

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.spans import Source


def read(name: str, stdin_name: str | None = None) -> Source:
    """The text of a file, or of standard input for `-`."""
    if name == "-":
        return Source(stdin_name or "-", decode(sys.stdin.buffer.read(), "-"))
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        from sexpgpu_core.lisp_files import unreadable

        raise unreadable(Path(name), error) from error
    return Source(name, decode(data, name))


def kept(name: str, text: Path) -> tuple[Source, dict[str, str]]:
    """A file as it was when another one kept its text, and those of its modules, which lie beside
    it: a sweep's points are of one file."""
    import json

    from sexpgpu_core.sweeps.running import MODULES

    modules = text.with_name(MODULES)
    told = json.loads(modules.read_text("utf-8"))["modules"] if modules.exists() else {}
    return Source(Path(name).as_posix(), read(str(text)).text), told


def decode(data: bytes, name: str) -> str:
    """UTF-8 to text, with `\\n` for every end of line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte {data[error.start]:#04x} at offset {error.start}, line {line}"
        raise problem("E-READ-ENCODING", message, file=name) from error
    return text.replace("\r\n", "\n") if "\r" in text else text
