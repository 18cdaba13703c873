"""Which knob decides how often a loop goes round: values are followed from what a loop counts to
where they come from, through variables, arguments and functions of one source, by lexical scope.

A name that a scope binds is that binding's value and no knob. `:values` asks for what a form's
value is computed from, `:length` only for what the length of a list is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..evaluator.values import Cons, Symbol, Value
from ..reader import Reader, span_of
from ..records import NamedTuple
from ..spans import Source, Span
from .lisp_text import DataNames
from .origins import within

VALUES, LENGTH = "values", "length"
DEFINE = ("DEFUN", "DEFMODEL", "DEFSCHEDULE")
GLOBAL = ("DEFPARAMETER", "DEFVAR")
STARTS = ("FOR", "AS", "REPEAT", "WITH", "WHILE", "UNTIL")
CLAUSES = (*STARTS, "FROM", "UPFROM", "DOWNFROM", "BELOW", "TO", "UPTO", "BY", "IN", "ON", "ACROSS")
COUNTS = ("BELOW", "FROM", "UPFROM", "TO", "UPTO")
ENDS = ("DO", "DOING", "COLLECT", "APPEND", "NCONC", "SUM", "FINALLY", "COLLECTING")
MAPS = ("MAPCAR", "MAPC", "MAPCAN", "REDUCE")
WHOLE = ("LIST", "VECTOR", "QUOTE", "LIST*")
"""What is as long as it is written."""

OF_LISTS = ("REVERSE", "COPY-LIST", "CDR", "REST", "SORT", "REMOVE-DUPLICATES", "APPEND", *MAPS)


class Scope:
    """Names that are bound around a form; a name's origins are filled while the source is read."""

    __slots__ = ("names", "outer")

    def __init__(self, outer: Scope | None) -> None:
        self.names: dict[str, list[Origin]] = {}
        self.outer = outer

    def find(self, name: str) -> list[Origin] | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None


class Origin(NamedTuple):
    """A form, where it stands, and what is asked of it."""

    form: Value
    scope: Scope
    asked: str = VALUES


class Loop(NamedTuple):
    """`counter`: the variable that holds an integer, as it is written, if there is one."""

    span: Span
    counts: list[Origin]
    counter: str | None


class Call(NamedTuple):
    name: str
    arguments: list[Value]
    scope: Scope
    span: Span | None


class Names(DataNames):
    """Symbols of a source, those of modules by their whole name."""

    def qualified(self, prefix: str, name: str, private: bool) -> Symbol:
        return self.intern(f"{prefix}:{name}")


def elements(form: Value) -> list[Value]:
    found = []
    while form.__class__ is Cons:
        found.append(form.car)
        form = form.cdr
    return found


def word(form: Value) -> str:
    return str(form.name) if form.__class__ is Symbol else ""


def head(form: Value) -> str:
    return word(form.car) if form.__class__ is Cons else ""


class Text:
    """A source taken apart: its loops in order, outer ones first, what its functions return, and
    where each name comes from."""

    def __init__(self, source: Source) -> None:
        self.loops: list[Loop] = []
        self.returns: dict[str, Origin] = {}
        self.parameters: dict[str, tuple[list[Value], Scope]] = {}
        self.calls: list[Call] = []
        self.helpers: list[tuple[str, Span]] = []
        self.top = Scope(None)
        self._waiting = [(f, self.top) for f in Reader(source, Names()).forms()][::-1]
        while self._waiting:
            self._one(*self._waiting.pop())
        for call in self.calls:
            if call.name in self.parameters:
                self._give(*self.parameters[call.name], call)

    def around(self, span: Span) -> tuple[list[Loop], list[Loop]]:
        """The loops around a place in its own function, and those around calls of the helpers
        (defun) that it is in; outer ones first."""
        own = [loop for loop in self.loops if within(span, loop.span) and span != loop.span]
        waiting, seen, more = [span], set[str](), list[Loop]()
        while waiting:
            at = waiting.pop()
            named = {name for name, body in self.helpers if within(at, body)} - seen
            seen |= named
            calls = [c.span for c in self.calls if c.name in named and c.span is not None]
            more += [loop for loop in self.loops if any(within(c, loop.span) for c in calls)]
            waiting += calls
        return own, [loop for loop in more if loop not in own]

    def knob(self, loop: Loop, knobs: Mapping[str, str]) -> str | None:
        """The knob that decides how often it goes round. `knobs`: name in the text -> name."""
        waiting, seen = list(loop.counts), set[tuple[int, int, str]]()
        while waiting:
            origin = waiting.pop(0)
            key = (id(origin.form), id(origin.scope), origin.asked)
            if key in seen:
                continue
            seen.add(key)
            name = word(origin.form)
            bound = origin.scope.find(name) if name else None
            if bound is None and name in knobs:
                return knobs[name]
            if bound is not None:
                waiting += [o._replace(asked=origin.asked) for o in bound]
            else:
                waiting += self._parts(origin)
        return None

    def _parts(self, origin: Origin) -> list[Origin]:
        """What the value of a form, or its length, is computed from."""
        form, scope, asked = origin
        if form.__class__ is not Cons:
            return []
        called, rest = head(form), elements(form)[1:]
        if called in self.returns:
            return [self.returns[called]._replace(asked=asked)]
        if called == "QUOTE" or (asked == LENGTH and called in WHOLE):
            return []
        if called == "LENGTH" or (asked == LENGTH and called in OF_LISTS):
            return [Origin(f, scope, LENGTH) for f in rest]
        if asked == LENGTH and called == "MAKE-LIST":
            rest = rest[:1]
        return [Origin(f, scope) for f in (rest if called else elements(form))]

    # Reading ------------------------------------------------------------------------------------
    def _one(self, form: Value, scope: Scope) -> None:
        called = head(form)
        if form.__class__ is not Cons or called == "QUOTE":
            return
        rule = RULES.get(called)
        parts = elements(form)[1:]
        if rule is not None:
            rule(self, form, parts, scope)
            return
        self.calls.append(Call(called, parts, scope, span_of(form)))
        if called in ("SETQ", "SETF"):
            self._assigned(parts, scope)
        self._read(elements(form), scope)

    def _read(self, forms: list[Value], scope: Scope) -> None:
        self._waiting += [(f, scope) for f in forms[::-1]]

    def _assigned(self, parts: list[Value], scope: Scope) -> None:
        for place, value in zip(parts[::2], parts[1::2]):
            bound = scope.find(word(place)) if word(place) else None
            if bound is not None:
                bound.append(Origin(value, scope))

    def _function(self, name: str, parameters: Value, body: list[Value], scope: Scope) -> None:
        inner = Scope(scope)
        for parameter in elements(parameters):
            named = parameter if parameter.__class__ is Symbol else None
            parts = [named] if named is not None else elements(parameter)
            if parts and not word(parts[0]).startswith("&"):
                inner.names[word(parts[0])] = [Origin(f, inner) for f in parts[1:2]]
        if name:
            self.parameters[name] = (elements(parameters), inner)
            self.returns[name] = Origin(body[-1] if body else None, inner)
        self._read(body, inner)

    def _give(self, parameters: list[Value], inner: Scope, call: Call) -> None:
        """The parameters of a function get what one of its calls gives."""
        by_key = False
        at = iter(call.arguments)
        keyed = dict(zip(map(word, call.arguments), call.arguments[1:]))
        for parameter in parameters:
            name = word(parameter) or head(parameter)
            if name.startswith("&"):
                by_key = by_key or name in ("&KEY", "&REST")
                continue
            given = keyed.get(name) if by_key else next(at, None)
            if given is not None:
                inner.names[name].append(Origin(given, call.scope))

    def _loop(self, form: Cons, counts: list[Origin], counter: str | None) -> None:
        span = span_of(form)
        if span.__class__ is Span:
            self.loops.append(Loop(span, counts, counter))


Rule = Callable[[Text, Cons, "list[Value]", Scope], None]


def _define(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    if len(parts) < 2:
        return
    span = span_of(form)
    if head(form) == "DEFUN" and span is not None:
        text.helpers.append((word(parts[0]), span))
    text._function(word(parts[0]), parts[1], parts[2:], scope)


def _lambda(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    text._function("", parts[0] if parts else None, parts[1:], scope)


def _global(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    text._read(parts[1:], scope)
    if len(parts) >= 2:
        text.top.names[word(parts[0])] = [Origin(parts[1], scope)]


def _bound(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    """let and let*; in let* a variable sees those before."""
    inner = Scope(scope)
    for pair in elements(parts[0]) if parts else []:
        name, value = word(pair) or head(pair), elements(pair)[1:2]
        text._read(value, inner if head(form) == "LET*" else scope)
        if head(form) == "LET*":
            inner = Scope(inner)
        seen = inner.outer if head(form) == "LET*" else scope
        inner.names[name] = [Origin(f, seen or scope) for f in value]
    text._read(parts[1:], inner)


def _several(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    """multiple-value-bind and destructuring-bind: each name from the whole value."""
    inner = Scope(scope)
    for name in elements(parts[0]) if parts else []:
        inner.names[word(name)] = [Origin(f, scope) for f in parts[1:2]]
    text._read(parts[1:2], scope)
    text._read(parts[2:], inner)


def _functions(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    for part in elements(parts[0]) if parts else []:
        inner = elements(part)
        if len(inner) >= 2:
            text._function(word(inner[0]), inner[1], inner[2:], scope)
    text._read(parts[1:], scope)


def _times(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    """dotimes and dolist."""
    named = elements(parts[0]) if parts else []
    counted = head(form) == "DOTIMES"
    counts = [Origin(f, scope, VALUES if counted else LENGTH) for f in named[1:2]]
    counter = word(named[0]).lower() or None if counted and named else None
    inner = Scope(scope)
    if named:
        inner.names[word(named[0])] = [Origin(f, scope) for f in named[1:2]]
    text._loop(form, counts, counter)
    text._read(named[1:], scope)
    text._read(parts[1:], inner)


def _do(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    """do and do*: as long as the test says, of variables that begin and step as they say."""
    inner = Scope(scope)
    for variable in elements(parts[0]) if parts else []:
        name, *forms = elements(variable) or [variable]
        begin = [Origin(f, scope) for f in forms[:1]]
        inner.names[word(name)] = begin + [Origin(f, inner) for f in forms[1:2]]
        text._read(forms, inner)
    test = elements(parts[1])[:1] if len(parts) > 1 else []
    text._loop(form, [Origin(f, inner) for f in test], None)
    text._read(parts[2:], inner)


def _over(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    """mapcar and the like: as long as the lists."""
    text._loop(form, [Origin(f, scope, LENGTH) for f in parts[1:]], None)
    text._read(parts, scope)


def _loop(text: Text, form: Cons, parts: list[Value], scope: Scope) -> None:
    words = [word(p) for p in parts]
    if not words or words[0] not in STARTS:
        text._loop(form, [], None)
        text._read(parts, scope)
        return
    end = next((i for i, w in enumerate(words) if w in ENDS), len(words))
    inner, counter, counts = Scope(scope), None, list[Origin]()
    for i, clause in enumerate(words[:end]):
        if clause in ("FOR", "AS", "WITH") and i + 1 < end and words[i + 1]:
            inner.names[words[i + 1]] = [Origin(f, scope) for f in parts[i + 3 : i + 4]]
        if clause in ("FOR", "AS") and words[i + 2 : i + 3] and words[i + 2] in COUNTS:
            counter = counter or words[i + 1].lower()
    for asked, value in _clauses(words[:end], parts):
        counts.append(Origin(value, inner, asked))
    text._loop(form, counts, counter)
    text._read(parts, inner)


def _clauses(words: list[str], parts: list[Value]) -> Iterator[tuple[str, Value]]:
    """What ends a loop: counts, tests and the lists that it walks."""
    for at, clause in enumerate(words[:-1]):
        if clause in ("IN", "ON", "ACROSS"):
            yield LENGTH, parts[at + 1]
        elif clause in CLAUSES and clause not in ("FOR", "AS", "WITH"):
            yield VALUES, parts[at + 1]


RULES: dict[str, Any] = {
    **dict.fromkeys(DEFINE, _define),
    **dict.fromkeys(GLOBAL, _global),
    **dict.fromkeys(("LET", "LET*"), _bound),
    **dict.fromkeys(("MULTIPLE-VALUE-BIND", "DESTRUCTURING-BIND"), _several),
    **dict.fromkeys(("FLET", "LABELS"), _functions),
    **dict.fromkeys(("DOTIMES", "DOLIST"), _times),
    **dict.fromkeys(("DO", "DO*"), _do),
    **dict.fromkeys(MAPS, _over),
    "LOOP": _loop,
    "LAMBDA": _lambda,
}
