"""Where the parts of a list go that does not fit a line, by the kind of its style."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..records import NamedTuple
from .layout_styles import Style
from .layout_tree import Node

WIDTH = 100
SPACE, FILL, LINE = range(3)


class Gap(NamedTuple):
    """What stands before a part: a blank, a new line at `column`, or with FILL a blank if the
    part and those that stay with it, `parts` in all, still go on the line.

    `width`: columns that they take, None if they break.
    """

    kind: int
    column: int
    width: int | None = None
    parts: int = 1


def plan(node: Node, inner: int) -> list[Gap]:
    """The gaps before all parts of a list but the first; `inner`: the column behind its bracket."""
    assert node.items is not None
    style = node.style
    assert isinstance(style, Style)
    return PLANS[style.kind](node.items, inner, style)


def units(items: list[Node]) -> Iterable[tuple[Node, Node | None]]:
    """Parts, each keyword with its value. What is left over is taken to stand first."""
    at = 0
    while at < len(items):
        left = len(items) - at
        paired = is_keyword(items[at]) and left > 1
        if paired and left % 2 and is_keyword(items[at + 1]):
            paired = False
        yield items[at], items[at + 1] if paired else None
        at += 1 + paired


def is_keyword(node: Node) -> bool:
    return node.items is None and node.text[0] == ":" and not node.prefix


def fill(column: int, *unit: Node | None) -> Gap:
    """FILL before a part and, where it has one, its value."""
    return Gap(FILL, column, width_of(*unit), len(unit) - unit.count(None))


def width_of(*parts: Node | None) -> int | None:
    """Columns of parts in a row on one line; None where that cannot be."""
    total = -1
    for part in parts:
        if part is None:
            continue
        if part.flat is None:
            return None
        total += len(part.flat) + 1
    return total


def _call(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """Arguments under the first of them, keywords with their values; those before on one line."""
    arguments = items[1:]
    start, first = _start(items, inner)
    found = list(units(arguments))
    if all(a.items is None for a in arguments) and not any(value for _, value in found):
        near, far = arguments[: style.beside], arguments[style.beside :]
        return _lead(
            first, start, [Gap(SPACE, start) for _ in near] + [fill(start, a) for a in far]
        )
    count = next((i for i, (_, value) in enumerate(found) if value is not None), 0)
    room = width_of(*(a for a, _ in found[:count]))
    together = count and room is not None and start + room <= WIDTH
    gaps: list[Gap] = []
    for place, (part, value) in enumerate(found):
        row = (together and 0 < place < count) or 0 < place < style.beside
        gaps.append(Gap(SPACE if row else LINE, start))
        if value is not None:
            gaps.append(_value(part, value, start))
    return _lead(first, start, gaps)


def _aligned(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """Each argument on its line."""
    start, first = _start(items, inner)
    return _lead(first, start, [Gap(LINE, start) for _ in items[1:]])


def _start(items: list[Node], inner: int) -> tuple[int, int]:
    """Column of the arguments, and how the first is parted from the operator."""
    head = items[0]
    if head.items is not None or head.flat is None:
        return inner, LINE
    start = inner + len(head.flat) + 1
    needed = max((part.narrow for part in items[1:]), default=0)
    return (start, SPACE) if start + needed < WIDTH else (inner + 1, LINE)


def _lead(first: int, start: int, gaps: list[Gap]) -> list[Gap]:
    return [Gap(first, start), *gaps[1:]] if gaps else gaps


def _value(key: Node, value: Node, start: int) -> Gap:
    """Behind a keyword or a place, unless it has no room there."""
    reach = start + len(key.flat or "") + 1 + value.narrow
    return Gap(SPACE if key.flat is not None and reach < WIDTH else LINE, start + 2)


def _body(items: list[Node], inner: int, style: Style) -> list[Gap]:
    gaps: list[Gap] = []
    for place, part in enumerate(items[1:]):
        if place >= style.beside:
            gaps.append(Gap(LINE, inner + 1))
        elif place == 0 or (place < len(style.first) and style.first[place] is not None):
            tight = inner + len(items[0].flat or "") + 1 + part.narrow >= WIDTH
            gaps.append(Gap(LINE if tight else SPACE, inner + 3))
        else:
            gaps.append(fill(inner + 3, part))
    return gaps


def _options(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """Keywords with their values beside the operator, forms below it."""
    gaps: list[Gap] = []
    ahead = True
    for part, value in units(items[1:]):
        ahead = ahead and value is not None
        gaps.append(fill(inner + 3, part, value) if ahead else Gap(LINE, inner + 1))
        if value is not None:
            gaps.append(_value(part, value, inner + 3))
    return gaps


def _declaration(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """What is positional, then keywords with their values below it, as many a line as fit."""
    gaps: list[Gap] = []
    keyed = False
    for part, value in units(items[1:]):
        below = value is not None and not keyed
        keyed = keyed or value is not None
        gap = Gap(LINE, inner + 1) if below else fill(inner + 1, part, value)
        gaps.append(gap if gaps else Gap(SPACE, inner + 1))
        if value is not None:
            gaps.append(_value(part, value, inner + 1))
    return gaps


def _rows(items: list[Node], inner: int, style: Style) -> list[Gap]:
    return [Gap(LINE, inner) for _ in items[1:]]


def _data(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """As many a line as fit; lists alone one a line."""
    if all(part.items is not None for part in items):
        return _rows(items, inner, style)
    gaps: list[Gap] = []
    for part, value in units(items):
        gaps.append(fill(inner, part, value))
        if value is not None:
            gaps.append(_value(part, value, inner))
    return gaps[1:]


def _assignment(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """A place and its value a line."""
    start, first = _start([items[0], *items[1::2]], inner)
    gaps: list[Gap] = []
    for place, part in enumerate(items[1:]):
        gaps.append(_value(items[place], part, start) if place % 2 else Gap(LINE, start))
    return _lead(first, start, gaps)


def _tags(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """As a body, its tags one column to the left."""
    gaps = _body(items, inner, style)
    for place, part in enumerate(items[1:]):
        if place >= style.beside and part.items is None:
            gaps[place] = Gap(LINE, inner)
    return gaps


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LINKS = _words("and else")
NAMING = _words("for as with into named in on across from to being the")
TESTS = _words("when if unless")
CLAUSES = TESTS | _words(
    "for as with while until repeat always never thereis do doing collect collecting append "
    "appending nconc nconcing count counting sum summing maximize maximizing minimize minimizing "
    "finally initially return named and else end"
)


def _loop(items: list[Node], inner: int, style: Style) -> list[Gap]:
    """A clause a line; forms behind `do` under the first of them."""
    if len(items) < 2 or items[1].items is not None:
        return [Gap(LINE, inner + 1) for _ in items[1:]]
    start = inner + len(items[0].flat or "") + 1
    words = [part.text.lower().lstrip(":") if part.items is None else "" for part in items]
    gaps = [Gap(SPACE, start)]
    under, tested = start + len(words[1]) + 1, words[1] in TESTS
    for place in range(2, len(items)):
        word, before = words[place], words[place - 1]
        if not word or not _begins(word, before):
            gaps.append(Gap(SPACE if word or before else LINE, under))
            under += len(word) + 1 if word in CLAUSES and before in LINKS else 0
            continue
        column = start + 2 if tested and word not in TESTS and word not in LINKS else start
        gaps.append(_clause(items, words, place, column) if column > start else Gap(LINE, start))
        tested = word in TESTS
        under = column + len(word) + 1
    return gaps


def _begins(word: str, before: str) -> bool:
    """Whether a word of a loop begins a clause."""
    return word in CLAUSES and before not in NAMING and before not in LINKS


def _clause(items: list[Node], words: list[str], place: int, column: int) -> Gap:
    """What a condition governs stays on its line, unless it has several forms."""
    end = place + 1
    while end < len(items) and words[end] not in CLAUSES:
        end += 1
    several = sum(not word for word in words[place:end]) > 1
    return Gap(LINE, column) if several else fill(column, *items[place:end])


PLANS: dict[str, Callable[[list[Node], int, Style], list[Gap]]] = {
    "call": _call,
    "aligned": _aligned,
    "body": _body,
    "options": _options,
    "declaration": _declaration,
    "rows": _rows,
    "data": _data,
    "quoted": _data,
    "assignment": _assignment,
    "tags": _tags,
    "loop": _loop,
}
