"""W-SCOPE-UNNAMED: unnamed calls of models in a loop whose length a knob decides (R13).

Their scopes are numbered in order of calls, so that another value of the knob gives other
parameters the same names. Loops are looked for in the text around the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..diagnostics import Change, Edit
from ..evaluator import machine
from ..evaluator.values import Cons, Symbol, Value
from ..reader import Reader, span_of
from ..records import NamedTuple
from ..spans import Span
from .host import host, warn
from .lisp_text import DataNames
from .origins import within
from .tracer import Tracer

LOOP = re.compile(r"\((dotimes|dolist|loop|do\*?|mapcar|mapc|reduce)[\s(]", re.IGNORECASE)
STARTS = ("FOR", "AS", "REPEAT", "WITH", "WHILE", "UNTIL", "FROM", "BELOW", "TO", "UPTO")
COUNTS = ("BELOW", "FROM", "UPFROM", "TO", "UPTO")
ENDS = ("DO", "DOING", "COLLECT", "APPEND", "NCONC", "SUM", "FINALLY", "COLLECTING")


class Loop(NamedTuple):
    """`counter`: the variable that holds an integer, as it is written, if there is one."""

    span: Span
    knob: str | None
    counter: str | None


def warn_unnamed(t: Tracer, model: str) -> None:
    """Of the unnamed call of a model below the root that is being made."""
    span = machine.current().call_span
    if span.__class__ is not Span or not LOOP.search(span.source.text):
        return
    assert span is not None
    key = id(span.source)
    if key not in t.loops:
        t.loops[key] = list(_loops(span))
    around = [loop for loop in t.loops[key] if within(span, loop.span) and span != loop.span]
    knob = next((loop.knob for loop in around if loop.knob), None)
    if knob is None:
        return
    counters = [loop.counter for loop in around]
    named = f':name (path "{model}" {" ".join(c or "i" for c in counters)})'
    warn(
        "W-SCOPE-UNNAMED",
        f"calls of {model} are numbered in a loop whose length the knob {knob} decides",
        hint=f"give each a name: {named}",
        edit=_edit(span, named) if all(counters) else None,
        knob=knob,
    )


def _edit(call: Span, named: str) -> Edit | None:
    text = call.text
    if not text.endswith(")") or text[:7].lower() == "(apply ":
        return None
    end = Span(call.source, call.end - 1, call.end - 1)
    return Edit("name them by the loop's variable", (Change(end, f" {named}"),))


def _loops(at: Span) -> Iterator[Loop]:
    """The loops of a source, outer ones first."""
    knobs = {name.rpartition(":")[2].upper(): name for name in host().collector.knobs}
    waiting: list[Value] = list(Reader(at.source, DataNames()).forms())[::-1]
    while waiting:
        form = waiting.pop()
        if form.__class__ is not Cons:
            continue
        parts = list(_elements(form))
        rule = RULES.get(_word(form.car))
        span = span_of(form)
        if rule is not None and span.__class__ is Span:
            head, counter = rule(parts[1:])
            knob = next((knobs[w] for w in _words(head) if w in knobs), None)
            yield Loop(span, knob, counter)
        waiting += parts[::-1]


def _elements(form: Value) -> Iterator[Value]:
    while form.__class__ is Cons:
        yield form.car
        form = form.cdr


def _word(form: Value) -> str:
    return str(form.name) if form.__class__ is Symbol else ""


def _words(forms: list[Value]) -> Iterator[str]:
    """Names of all symbols in forms."""
    waiting = forms[::-1]
    while waiting:
        form = waiting.pop()
        if form.__class__ is Cons:
            waiting += list(_elements(form))[::-1]
        elif form.__class__ is Symbol:
            yield form.name


Head = tuple[list[Value], str | None]
"""What says how often a loop goes round, and its counter."""


def _dotimes(parts: list[Value]) -> Head:
    named = list(_elements(parts[0])) if parts else []
    return named[1:2], _word(named[0]).lower() or None if named else None


def _dolist(parts: list[Value]) -> Head:
    return _dotimes(parts)[0], None


def _do(parts: list[Value]) -> Head:
    return parts[:2], None


def _over(parts: list[Value]) -> Head:
    """mapcar and the like: of the lists, not of the function."""
    return parts[1:], None


def _loop(parts: list[Value]) -> Head:
    words = [_word(p) for p in parts]
    if not words or words[0] not in STARTS:
        return [], None
    end = next((i for i, w in enumerate(words) if w in ENDS), len(words))
    counter = None
    for i in range(end - 2):
        if words[i] in ("FOR", "AS") and words[i + 1] and words[i + 2] in COUNTS:
            counter = counter or words[i + 1].lower()
    return parts[:end], counter


RULES: dict[str, Callable[[list[Value]], Head]] = {
    "DOTIMES": _dotimes,
    "DOLIST": _dolist,
    "DO": _do,
    "DO*": _do,
    "LOOP": _loop,
    **dict.fromkeys(("MAPCAR", "MAPC", "REDUCE"), _over),
}
