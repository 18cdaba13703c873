"""Paths of Lisp files to sources: texts, and the mistakes of names and bytes."""

from __future__ import annotations

from pathlib import Path

from .diagnostics import Problem, nearest, problem
from .spans import Source


def read_source(path: Path) -> Source:
    return Source(path.as_posix(), read_text(path))


def read_text(path: Path) -> str:
    """A file's text, without the mark of byte order that some editors put first. E-USAGE-FILE,
    E-READ-ENCODING."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise problem(
            "E-READ-ENCODING", f"byte {error.start} of {path} is not UTF-8", file=path.as_posix()
        ) from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> Problem:
    """E-USAGE-FILE with the run file beside it whose name is nearest."""
    stems: dict[str, str] = {}
    if not path.exists() and path.parent.is_dir():
        stems = {p.stem: p.name for p in sorted(path.parent.glob("*.lisp")) if p.is_file()}
    near = nearest(path.stem, stems)
    hint = f"did you mean {path.with_name(stems[near])}?" if near else "sexpgpu new FILE makes one"
    reason = (error.strerror or str(error)).lower()
    return problem("E-USAGE-FILE", f"{path}: {reason}", hint=hint, file=path.as_posix())


def base_of(source: Source) -> Path:
    """The folder that relative paths of a file start from."""
    return Path.cwd() if source.name == "-" else Path(source.name).parent
