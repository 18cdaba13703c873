"""Text to forms with spans: an explicit stack over tokens, so depth is bounded by memory alone.

Goes on after a mistake: all of a text's reading errors are collected in `diagnostics`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..diagnostics import Diagnostic, Problem
from ..evaluator.values import NIL, QUASIQUOTE, Array, String, Symbol, Value
from ..evaluator.values import QUOTE as QUOTE_SYMBOL
from ..spans import Source, Span
from . import mistakes
from .frames import (
    ARRAY,
    DOT,
    FEATURE,
    FEATURES,
    LABEL,
    LIST,
    MISSING,
    POINT,
    PREFIX,
    SKIP,
    TOP,
    UNQUOTES,
    Frame,
    close_list,
    close_vector,
    feature_holds,
    prefixed,
)
from .labels import Labels
from .names import FeatureNames, Names, resolve, unescape
from .numbers import parse_number, parse_radix
from .sharp import read_sharp
from .tokens import ATOM, BACKQUOTE, CLOSE, COMMA, COMMENT, OPEN, OTHER, QUOTE, SHARP, STRING, TOKEN
from .tokens import atom_end as end_of_atom


class Reader:
    """Reads one source. `forms()` yields top-level forms as they are complete.

    `text`: what is read in the source's place, of the same places; blanks leave something out.
    `data`: what is read is only data, which may contain itself.
    """

    def __init__(
        self,
        source: Source,
        names: Names,
        text: str | None = None,
        *,
        features: frozenset[Symbol] = FEATURES,
        data: bool = False,
        base: int = 10,
    ) -> None:
        self.source = source
        self.text = _without_trailing_space(source.text if text is None else text)
        self.names = names
        self.diagnostics: list[Diagnostic] = []
        self.comments: list[Span] = []
        self.stack: list[Frame] = []
        self.suppress = 0  # inside what #+ leaves out
        self.end = 0  # after the last form read
        self.features = features
        self.base = base  # of integers and ratios
        self.labels = Labels(data)
        self._atoms: dict[str, Value] = {".": DOT}  # what each text read as
        self._column: tuple[int, int] | None = None

    def span(self, start: int, end: int) -> Span:
        return Span(self.source, start, end)

    def report(self, problem: Problem, start: int, end: int) -> None:
        """Note a mistake; nothing is noted inside what #+ leaves out."""
        if not self.suppress:
            self.diagnostics.append(problem.locate(self.span(start, end)).diagnostic)

    def forget_names(self) -> None:
        """Names may mean other symbols from here on: something was imported."""
        self._atoms.clear()
        self._atoms["."] = DOT

    def forget_from(self, at: int) -> None:
        """What was noted from there on will be noted again."""
        self.diagnostics = [d for d in self.diagnostics if d.span is None or d.span.start < at]
        self.comments = [comment for comment in self.comments if comment.start < at]

    def forms(self) -> Iterator[Value]:
        """Top-level forms in order; `diagnostics` is complete once they are exhausted."""
        at = 0
        while at >= 0:
            self.stack = [Frame(TOP, at, 0)]
            self._column = None
            yield from self._forms_from(at)
            at = mistakes.unfinished(self) if len(self.stack) > 1 else -1

    def form_at(self, at: int) -> Value:
        """The top-level form that begins there, of a text that is known to be well formed."""
        self.stack = [Frame(TOP, at, 0)]
        self._column = None
        return next(self._forms_from(at))

    def _forms_from(self, at: int) -> Iterator[Value]:
        text, atoms, stack, size = self.text, self._atoms, self.stack, len(self.text)
        frame = stack[-1]
        while at < size:
            for match in TOKEN.finditer(text, at):
                kind: int = match.lastindex or OTHER
                start, at = match.span(kind)
                if kind == ATOM:
                    value = atoms.get(match[ATOM], MISSING)
                    if value is MISSING or self.suppress:
                        value = self._atom(match[ATOM], start, at)
                elif kind == OPEN:
                    if len(stack) > 1 and text[start - 1] == "\n" and self._column is None:
                        self._column = (start, stack[1].start)
                    frame = Frame(LIST, start, frame.level)
                    stack.append(frame)
                    continue
                elif kind == CLOSE:
                    value, start = self._close(start, at)
                else:
                    value, at = self._rare(kind, start, at)
                frame = stack[-1]
                if value is not MISSING:
                    if LIST <= frame.kind <= ARRAY:
                        frame.items.append(value)
                        frame.starts.append(start)
                    else:
                        value = self._deliver(value, start, at)
                        frame = stack[-1]
                        if value is not MISSING:
                            yield value
                if kind >= SHARP:
                    break
            else:
                return

    def _rare(self, kind: int, start: int, at: int) -> tuple[Value, int]:
        """A token that is neither an atom nor a bracket: its value or MISSING, and where it
        ends.
        """
        if kind == STRING:
            return self._string(start, at), at
        if kind == COMMENT:
            self.comments.append(self.span(start, at))
        elif kind == QUOTE:
            self.push(PREFIX, start, QUOTE_SYMBOL)
        elif kind == BACKQUOTE:
            self.push(PREFIX, start, QUASIQUOTE, 1)
        elif kind == COMMA:
            self._comma(start, at)
        elif kind == SHARP:
            return read_sharp(self, start)
        elif self.text[start] == '"':
            return mistakes.open_string(self, start)
        else:
            at = end_of_atom(self.text, start)
            return self._escaped(start, at), at
        return MISSING, at

    def push(self, kind: int, start: int, detail: Any = None, level: int = 0) -> None:
        """Open a bracket or prefix; `level` is what it adds to the depth of backquotes."""
        self.stack.append(Frame(kind, start, self.stack[-1].level + level, detail))

    def _comma(self, start: int, at: int) -> None:
        if self.stack[-1].level > 0:
            self.push(PREFIX, start, UNQUOTES[self.text[start:at]], -1)
        else:
            mistakes.lone_comma(self, start, at)

    def _close(self, start: int, at: int) -> tuple[Value, int]:
        stack = self.stack
        while stack[-1].kind > ARRAY:
            mistakes.prefix_alone(self, stack.pop())
        if stack[-1].kind == TOP:
            mistakes.extra_close(self, start)
            return MISSING, start
        frame = stack.pop()
        try:
            if frame.kind == LIST:
                return close_list(frame, self.source, at), frame.start
            return close_vector(frame), frame.start
        except Problem as problem:
            self.report(problem, frame.start, at)
            return NIL, frame.start

    def _deliver(self, value: Value, start: int, end: int) -> Value:
        """Hand a value to the prefixes that wait for it; what is complete at top level comes
        back.
        """
        stack = self.stack
        while stack[-1].kind > ARRAY:
            frame = stack.pop()
            if frame.kind == PREFIX:
                value = prefixed(frame, value, start, end, self.source)
                start = frame.start
                continue
            if frame.kind >= LABEL:
                value, start = self._labelled(frame, value, end), frame.start
                continue
            self.suppress = frame.level_before
            if frame.kind == FEATURE and isinstance(self.names, FeatureNames):
                self.names = self.names.outside
                self.forget_names()
            if frame.kind == FEATURE and feature_holds(value, self.features) != frame.detail:
                self.push(SKIP, frame.start)
                stack[-1].level_before = self.suppress
                self.suppress += 1
            return MISSING
        frame = stack[-1]
        if frame.kind != TOP:
            frame.items.append(value)
            frame.starts.append(start)
            return MISSING
        self.start, self.end = start, end
        if self.labels.known:
            self.labels = Labels(self.labels.circular)
        mistakes.inner_definition(self, self._column)
        self._column = None
        if value is DOT:
            mistakes.stray_dot(self, start)
            return MISSING
        return value

    def _labelled(self, frame: Frame, value: Value, end: int) -> Value:
        if self.suppress:
            return value
        if frame.kind == POINT:
            return Array((), [value])
        try:
            return self.labels.close(frame.detail, value)
        except Problem as error:
            self.report(error, frame.start, end)
            return NIL

    def push_feature(self, start: int, wanted: bool) -> None:
        """`#+` (wanted) or `#-`: the next form is a feature expression."""
        self.push(FEATURE, start, wanted)
        self.stack[-1].level_before = self.suppress
        self.suppress = 0
        self.names = FeatureNames(self.names)
        self.forget_names()

    def _atom(self, text: str, start: int, end: int) -> Value:
        if self.suppress:
            return DOT if text == "." else NIL
        try:
            value = self._atom_value(text)
        except Problem as problem:
            self.report(problem, start, end)
            return NIL
        self._atoms[text] = value
        return value

    def _atom_value(self, text: str) -> Value:
        if self.base != 10:
            number = parse_radix(text, self.base)
            if number is not None:
                return number
            if text.lstrip("+-").replace("/", "").isdigit():  # digits that the base has not
                return self.names.intern(text)
        if text[0] in "+-.0123456789":
            number = parse_number(text)
            if number is not None:
                return number
            if not text.strip("."):
                raise mistakes.dots(text)
        if ":" not in text:
            return self.names.intern(text.upper())
        return resolve(text.upper().split(":"), text, self.names)

    def _escaped(self, start: int, end: int) -> Value:
        if self.suppress:
            return NIL
        text = self.text[start:end]
        try:
            return resolve(unescape(text), text, self.names)
        except Problem as problem:
            self.report(problem, start, end)
            return NIL

    def _string(self, start: int, end: int) -> Value:
        text = self.text[start + 1 : end - 1]
        if "\\" not in text:
            return String(text)
        mistakes.string_escapes(self, text, start + 1)
        out, at = [], 0
        while at < len(text):
            at += text[at] == "\\"
            out.append(text[at])
            at += 1
        return String(out)


def _without_trailing_space(text: str) -> str:
    """The text up to its last token; the character `#\\ ` keeps its space."""
    end = len(text.rstrip())
    return text[: end + 1] if text[:end].endswith("\\") else text[:end]


def read_all(source: Source, names: Names) -> tuple[list[Value], list[Diagnostic]]:
    """All top-level forms of a source and what is wrong in it, in source order."""
    reader = Reader(source, names)
    forms = list(reader.forms())
    return forms, sorted(reader.diagnostics, key=lambda d: d.span.start if d.span else 0)


__all__ = ["Reader", "read_all"]
