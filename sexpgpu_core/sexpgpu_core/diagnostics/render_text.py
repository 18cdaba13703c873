"""A diagnostic to text, in rustc's form: message, place, source underlined, notes, help, edit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..spans import Span
from .diagnostic import Change, Diagnostic, Edit
from .places import printable, shown_path

WIDEST = 110
"""Columns of a source line that are shown."""

STYLE = {
    "error": "\x1b[1;31m",
    "warning": "\x1b[1;33m",
    "frame": "\x1b[1;34m",
    "help": "\x1b[1;36m",
    "old": "\x1b[31m",
    "new": "\x1b[32m",
    "bold": "\x1b[1m",
}
QUIET_FACTS = frozenset(
    ("given", "nearest", "kind", "file", "distribution", "sizes", "axis", "way")
)
"""Facts that the message and the hint say already."""


class Ink:
    """Colours, or none."""

    __slots__ = ("color",)

    def __init__(self, color: bool) -> None:
        self.color = color

    def __call__(self, style: str, text: str) -> str:
        return f"{STYLE[style]}{text}\x1b[0m" if self.color and text else text


def render(d: Diagnostic, *, color: bool = False) -> str:
    """One diagnostic, without a newline at its end."""
    ink = Ink(color)
    lines = [f"{ink(d.severity, f'{d.severity}[{d.code}]')}{ink('bold', ': ' + message(d))}"]
    margin = " " * _margin(d)
    if d.span is not None:
        lines += snippet(d.span, margin, ink, "^", d.severity)
    elif d.file is not None:
        lines.append(f"{margin}{ink('frame', '-->')} {printable(shown_path(d.file))}")
    lines += [f"{margin} {ink('frame', '=')} {text}" for text in _facts(d)]
    for related in d.related:
        lines.append(f"{ink('bold', 'note')}: {printable(related.message)}")
        if related.span is not None:
            lines += snippet(related.span, margin, ink, "-", "frame")
    for link in d.expansion:
        where = f" at {_at(link.span)}" if link.span is not None else ""
        lines.append(f"{margin} {ink('frame', '=')} in the expansion of {link.macro}{where}")
    if d.scope:
        lines.append(f"{margin} {ink('frame', '=')} in {printable(d.scope)}")
    if d.hint:
        lines.append(f"{ink('help', 'help')}: {printable(d.hint)}")
    if d.edit is not None:
        lines += edited(d.edit, margin, ink)
    return "\n".join(lines)


def render_all(
    diagnostics: Sequence[Diagnostic], *, color: bool = False, limit: int = 20, more: str = ""
) -> str:
    """The first `limit` (0: all), a blank line between, and how many were left out."""
    shown = diagnostics[:limit] if limit else diagnostics
    text = "\n\n".join(render(d, color=color) for d in shown)
    left = len(diagnostics) - len(shown)
    if left:
        text += f"\n\n... {left} more" + (f": {more}" if more else "")
    return text


def counts(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty when there is none."""
    listed = list(diagnostics)
    errors = sum(d.is_error for d in listed)
    found = ((errors, "error"), (len(listed) - errors, "warning"))
    return ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in found if n)


def message(d: Diagnostic) -> str:
    """The message as it may be printed."""
    return printable(d.message).replace("\n", "\n  ")


def snippet(span: Span, margin: str, ink: Ink, mark: str, style: str) -> list[str]:
    """The place, the first line of the span with a mark under it, and how far it goes."""
    bar = ink("frame", "|")
    start_line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    text = span.source.line_text(start_line)
    last = end_column - 1 if end_line == start_line else len(text)
    before, marked, after = _window(text, column - 1, max(last, column - 1))
    number = str(start_line).rjust(len(margin))
    under = " " * columns(before) + ink(style, mark * max(1, columns(marked)))
    return [
        f"{margin}{ink('frame', '-->')} {printable(_at(span))}",
        f"{margin} {bar}",
        f"{ink('frame', number)} {bar} {before}{marked}{after}".rstrip(),
        f"{margin} {bar} {under}" + (f" to line {end_line}" if end_line > start_line else ""),
    ]


def edited(edit: Edit, margin: str, ink: Ink) -> list[str]:
    """Lines that the edit changes, before and after; at most three places."""
    lines: list[str] = []
    places = _by_line(edit.changes)
    for changes in places[:3]:
        line, column = changes[0].span.source.position(changes[0].span.start)
        end_line, end_column = changes[-1].span.source.position(changes[-1].span.end)
        before = changes[0].span.source.line_text(line)
        after, at = before[: column - 1], changes[0].span.start
        for change in changes:
            after += change.span.source.text[at : change.span.start] + change.new
            at = change.span.end
        after += changes[-1].span.source.line_text(end_line)[end_column - 1 :]
        number = str(line).rjust(len(margin))
        if any(change.old for change in changes):
            lines.append(f"{number} {ink('old', '- ' + printable(before.strip()))}")
        for text in after.split("\n")[:3]:
            lines.append(f"{number} {ink('new', '+ ' + printable(text.strip()))}")
    left = len(places) - 3
    return [*lines, f"{margin} ... {left} more changes"] if left > 0 else lines


def _by_line(changes: Sequence[Change]) -> list[list[Change]]:
    """Changes in their order; those that begin on the line where the one before ends, together."""
    found: list[list[Change]] = []
    for change in sorted(changes, key=lambda c: (c.span.source.name, c.span.start)):
        if found and _follows(found[-1][-1].span, change.span):
            found[-1].append(change)
        else:
            found.append([change])
    return found


def _follows(last: Span, span: Span) -> bool:
    source = span.source
    if last.source is not source or last.end > span.start:
        return False
    return source.position(last.end)[0] == source.position(span.start)[0]


def columns(text: str) -> int:
    """Cells of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _window(text: str, start: int, end: int) -> tuple[str, str, str]:
    """What is before, in and after the mark, cut to what a terminal shows."""
    skip = 0 if end <= WIDEST else max(0, start - 20)
    before = ("..." if skip else "") + text[skip:start]
    marked = text[start : min(end, skip + WIDEST)]
    after = text[end : skip + WIDEST] + ("..." if len(text) > skip + WIDEST else "")
    return printable(before), printable(marked), printable(after)


def _facts(d: Diagnostic) -> list[str]:
    """Facts that the message does not say."""
    said = f"{d.message} {d.hint or ''}"
    known = {k: v for k, v in d.facts.items() if k not in QUIET_FACTS and v is not None}
    listed = {k: [_fact(x) for x in v] if _nests(v) else [_fact(v)] for k, v in known.items()}
    return [
        f"{k.replace('_', ' ')}: {printable(', '.join(words))[:200]}"
        for k, words in listed.items()
        if not all(word in said for word in words)
    ]


def _nests(value: object) -> bool:
    """Whether a fact lists several things, not the sizes of one shape."""
    return isinstance(value, (list, tuple)) and not all(x.__class__ is int for x in value)


def _fact(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"({' '.join(map(_fact, value))})"
    return str(value)


def _at(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{shown_path(span.source.name)}:{line}:{column}"


def _margin(d: Diagnostic) -> int:
    spans = [d.span, *(r.span for r in d.related)]
    if d.edit is not None:
        spans += [c.span for c in d.edit.changes]
    return max((len(str(s.line)) for s in spans if s is not None), default=1)
