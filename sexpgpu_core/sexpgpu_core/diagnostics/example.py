"""A wrong and a right text of each code, from `examples/PHASE.txt`; both are run by the tests.

An example begins with `;;;; CODE FRAME`; `;;; right` ends what is wrong, `;;; file NAME` begins a
file beside it.
"""

from __future__ import annotations

from pathlib import Path

from ..records import NamedTuple
from .catalogue import lookup

FRAMES = {
    "alone": "a whole file",
    "file": "top-level forms that stand in for those of the smallest run file",
    "body": "the value of a model of x, f32 (8 64)",
    "run": "top-level forms as in `file`, of a file that is run",
    "shell": "command lines, the last of which is meant",
    "words": "what causes it, in words",
}


class Example(NamedTuple):
    """`wrong` raises the code, `right` does not. `files`: name -> text of what they require."""

    code: str
    frame: str
    wrong: str
    right: str
    files: dict[str, str]


def example(code: str) -> Example | None:
    """The example of a code of the catalogue, if it has one."""
    path = Path(__file__).parent / "examples" / f"{lookup(code).phase}.txt"
    return read(path).get(code) if path.exists() else None


def examples() -> dict[str, Example]:
    """All examples by code."""
    folder = Path(__file__).parent / "examples"
    return {c: e for path in sorted(folder.glob("*.txt")) for c, e in read(path).items()}


def read(path: Path) -> dict[str, Example]:
    """The examples of one page."""
    _, *found = ("\n" + path.read_text(encoding="utf-8")).split("\n;;;; ")
    return {e.code: e for e in map(_example, found)}


def _example(text: str) -> Example:
    head, _, body = text.partition("\n")
    code, frame = head.split()
    parts, *files = body.split("\n;;; file ")
    wrong, _, right = parts.partition("\n;;; right\n")
    beside = {name: rest for name, _, rest in (f.partition("\n") for f in files)}
    return Example(code, frame, wrong.rstrip(), right.rstrip(), beside)
