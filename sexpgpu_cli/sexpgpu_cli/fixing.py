"""Edits of diagnostics applied to a file, again and again until none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from sexpgpu_core.diagnostics import Change, Diagnostic, problem
from sexpgpu_core.records import NamedTuple
from sexpgpu_core.spans import Source

from .files import decode
from .rewriting import replace

ROUNDS = 10
"""An edit may bring another fault to light: at most so often."""


class Fixed(NamedTuple):
    """A file after its edits. `edits`: titles, in the order of application."""

    source: Source
    edits: tuple[str, ...]


def fixed(source: Source, told: Callable[[Source], Iterable[Diagnostic]], unsafe: bool) -> Fixed:
    """Apply safe edits (with `unsafe` all) to the text until `told` gives none that fits."""
    titles: list[str] = []
    for _ in range(ROUNDS):
        chosen = _chosen(source, told(source), unsafe)
        if not chosen:
            break
        changes = [change for _, made in chosen for change in made]
        titles += [title for title, _ in chosen]
        text = source.text
        for change in sorted(changes, key=lambda c: c.span.start, reverse=True):
            text = text[: change.span.start] + change.new + text[change.span.end :]
        if text == source.text:
            break
        source = Source(source.name, text)
    return Fixed(source, tuple(titles))


def _chosen(
    source: Source, found: Iterable[Diagnostic], unsafe: bool
) -> list[tuple[str, tuple[Change, ...]]]:
    """Edits of this file that do not touch each other: all of an edit's changes, or none."""
    taken: list[tuple[int, int]] = []
    chosen = []
    for d in found:
        if d.edit is None or not (d.edit.safe or unsafe):
            continue
        spans = [(c.span.start, c.span.end) for c in d.edit.changes]
        here = all(_same(c.span.source, source) for c in d.edit.changes)
        free = all(end <= a or b <= start for start, end in spans for a, b in taken)
        if here and free and spans and not set(spans) & set(taken):
            taken += spans
            chosen.append((d.edit.title, d.edit.changes))
    return chosen


def _same(of: Source, here: Source) -> bool:
    """Whether a change is of this very text."""
    return (of.name, of.text) == (here.name, here.text)


def write(before: Source, after: Source) -> None:
    """Replace the file, its ends of lines kept. Raises E-USAGE-FILE, also where another text than
    `before` stands there by now."""
    path = Path(before.name)
    try:
        data = path.read_bytes()
        if decode(data, before.name) != before.text:
            told = "it is left as it is: check it again"
            changed = f"{path} was changed while it was checked"
            raise problem("E-USAGE-FILE", changed, hint=told, file=str(path))
        crlf = b"\r\n" in data
        text = after.text.replace("\n", "\r\n") if crlf else after.text
        replace(path.resolve(), text.encode())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise problem("E-USAGE-FILE", f"{path}: {reason}", file=str(path)) from error
