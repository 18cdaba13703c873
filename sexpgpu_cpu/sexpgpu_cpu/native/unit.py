"""Functions of the subset as code units: lowered and compiled only where the cache has nothing."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ..compilation import ModuleText
from ..loader import CodeUnit, unit_key


def native_unit(
    name: str, source: str, exported: tuple[str, ...], constants: Mapping[str, str | int | bool]
) -> CodeUnit:
    """A unit whose key is the source, the constants and this compiler's own text."""
    given = repr((exported, sorted(constants.items())))
    key = unit_key("native", files_digest(str(Path(__file__).parent)), source, given)

    def text() -> ModuleText:
        from .lower import lower

        return ModuleText(lower(source, exported, constants), name, optimize=True)

    return CodeUnit(key, exported, text)


@functools.cache
def files_digest(folder: str, pattern: str = "*.py") -> str:
    """Digest of the Python files of a folder: no version number to forget."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob(pattern)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def file_digest(path: Path) -> str:
    """Digest of one file's text."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
