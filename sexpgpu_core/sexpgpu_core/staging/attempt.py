"""A call that failed, as it was written, and what it gives with an operand or a keyword changed.

Law: a repair is only proposed if the call was made again with it and went through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..diagnostics import Change, Edit, Problem
from ..evaluator import machine
from ..evaluator.values import MultipleValues, Value
from ..ir.types import Type
from ..records import NamedTuple
from ..spans import Span
from .dependence import MIXED
from .faults import operand_spans
from .origins import called_from_file, installed, place_of
from .regions import TRIAL
from .tensor import GENERIC, Tensor, is_tensor
from .tracer import Tracer

Remade = Callable[[Value], Value]
LONGEST = 56
"""Characters of a call that a hint repeats."""


class Repair(NamedTuple):
    """`operands` are made anew by functions of what they were, by their number; `options` replace
    keywords; `name` is called instead. `texts`: place -> new text of the call's pieces."""

    title: str
    operands: Mapping[int, Remade] = {}
    options: Mapping[str, Value] = {}
    texts: Mapping[tuple[int, int], str] = {}
    shown: str = ""
    name: str = ""


class Attempt:
    """One failed call of a tensor builtin: `again` makes it with other operands and options."""

    def __init__(
        self,
        t: Tracer,
        name: str,
        again: Callable[..., Value],
        arguments: tuple[Value, ...],
        options: Mapping[str, Value],
    ) -> None:
        self.t = t
        self.name = name
        self.again = again
        self.arguments = arguments
        self.options = options
        self.span = machine.current().call_span
        self.parts = written_parts(self.span, name, len(arguments))
        self._names = [p.text for p in self.parts[1 : len(arguments) + 1]]
        self._places: dict[int, Span] = {}
        if self.span is not None and installed(self.span):
            self._move_out()

    @property
    def tensors(self) -> list[tuple[int, Value]]:
        """Operands that are tensors, with their numbers."""
        return [(i, v) for i, v in enumerate(self.arguments) if is_tensor(v)]

    def _move_out(self) -> None:
        """Of a call in an installed module: where the file calls it, and what it gives to it."""
        self.span, self.parts = called_from_file(), []
        for i, v in self.tensors:
            place = place_of(v.value.node, v.region) if v.__class__ is Tensor else None
            if place is not None and self.span is not None and place in operand_spans(self.span):
                self._places[i] = place

    def part(self, i: int) -> Span | None:
        """Where operand i is written; None where it is not (a list of operands, a macro)."""
        return self.parts[i + 1] if i + 1 < len(self.parts) else self._places.get(i)

    def text(self, i: int) -> str:
        """Operand i as the file has it, or by the lambda list."""
        part = self.part(i)
        if part is not None:
            return part.text
        return self._names[i] if self._names else _parameter(self.name, i)

    def option_part(self, key: str) -> Span | None:
        """Where the value of a keyword is written."""
        texts = [p.text.lower() for p in self.parts]
        at = texts.index(":" + key) if ":" + key in texts else len(texts)
        return self.parts[at + 1] if at + 1 < len(texts) else None

    # Repairs -------------------------------------------------------------------------------------
    def wrapped(self, i: int, form: str, make: Remade, title: str) -> Repair:
        """Operand i within a form."""
        return self.replaced({i: form.format(self.text(i))}, {i: make}, title)

    def replaced(self, texts: Mapping[int, str], made: Mapping[int, Remade], title: str) -> Repair:
        """Operands by other texts, and what these are."""
        places = {i: self.part(i) for i in texts}
        found = {(p.start, p.end): texts[i] for i, p in places.items() if p is not None}
        shown = " and ".join(texts[i] for i in sorted(texts))
        return Repair(title, made, {}, found if len(found) == len(texts) else {}, shown)

    def swapped(self, i: int, j: int) -> Repair:
        """Operands i and j in each other's place."""
        x, y = self.arguments[i], self.arguments[j]
        texts = {i: self.text(j), j: self.text(i)}
        return self.replaced(
            texts, {i: lambda _: y, j: lambda _: x}, f"swap {texts[j]} and {texts[i]}"
        )._replace(shown=f"({self.name} {texts[i]} {texts[j]} ...)")

    def with_option(self, key: str, text: str, value: Value, title: str = "") -> Repair:
        """A keyword given, or given another value."""
        written = f":{key} {text}"
        part, texts = self.option_part(key), {}
        if part is not None:
            texts = {(part.start, part.end): text}
        elif self.span is not None and self.parts:
            texts = {(self.span.end - 1, self.span.end - 1): " " + written}
        option = key.replace("-", "_")
        return Repair(title or f"say {written}", {}, {option: value}, texts, written)

    def renamed(self, name: str, options: Mapping[str, Value] = {}) -> Repair:
        """Another builtin with the same operands."""
        texts = {(self.parts[0].start, self.parts[0].end): name} if self.parts else {}
        return Repair(f"call {name}", {}, options, texts, f"({name} ...)", name)

    # Trying --------------------------------------------------------------------------------------
    def outcome(self, repair: Repair) -> tuple[Type, ...] | None:
        """The types that the call gives with a repair; None if it fails, warns or lets examples
        meet that were apart."""
        found = machine.current().diagnostics
        count = len(found)
        try:
            with self.t.inside(TRIAL):
                values = self._made(repair)
                if len(found) > count or any(map(self._mixes, values)):
                    return None
                return tuple(v.type for v in values)
        except (Problem, TypeError, AttributeError, IndexError, ValueError):
            return None
        finally:
            del found[count:]

    def _made(self, repair: Repair) -> list[Tensor]:
        arguments = [
            repair.operands[i](v) if i in repair.operands else v
            for i, v in enumerate(self.arguments)
        ]
        if repair.name:
            value = GENERIC[repair.name].call(*arguments)
        else:
            value = self.again(*arguments, **{**self.options, **repair.options})
        values = value if value.__class__ is MultipleValues else (value,)
        return [v for v in values if v.__class__ is Tensor]

    def _mixes(self, value: Tensor) -> bool:
        return self.t.region.axes().of(value.value) == MIXED and not self._mixed_before

    @property
    def _mixed_before(self) -> bool:
        axes = self.t.region.axes()
        return any(
            v.__class__ is Tensor and axes.of(self.t.node(v)) == MIXED for v in self.arguments
        )

    def edit(self, repair: Repair) -> Edit | None:
        """The repair as an edit of the file, if its pieces are written there."""
        if not repair.texts or self.span is None:
            return None
        source, places = self.span.source, sorted(repair.texts)
        start, at, new = places[0][0], places[0][0], ""
        for a, b in places:
            new += source.text[at:a] + repair.texts[a, b]
            at = b
        return Edit(repair.title, (Change(Span(source, start, at), new),))

    def shown(self, repair: Repair) -> str:
        """The call with the repair, or what is changed of it where the call is long."""
        edit = self.edit(repair)
        if edit is None or self.span is None:
            return repair.shown
        (change,) = edit.changes
        a, b = change.span.start - self.span.start, change.span.end - self.span.start
        text = self.span.text[:a] + change.new + self.span.text[b:]
        return repair.shown if len(text) > LONGEST or "\n" in text else text


def written_parts(span: Span | None, name: str, count: int) -> list[Span]:
    """Spans of the head and the rest of a call of `name` with so many operands that was written as
    such; else []."""
    if span.__class__ is not Span:
        return []
    assert span is not None
    parts = operand_spans(span)
    if not parts or parts[0].text.lower() not in (name, "%" + name):
        return []
    operands = [p.text.startswith(":") for p in parts[1 : count + 1]]
    more = parts[count + 1].text.startswith(":") if len(parts) > count + 1 else True
    return parts if len(operands) == count and more and not any(operands) else []


def _parameter(name: str, i: int) -> str:
    """What the lambda list calls operand i."""
    words = GENERIC[name].lambda_list.strip("()").split("&key")[0].split()
    names = [w for w in words if not w.startswith("&")] or ["x"]
    return names[min(i, len(names) - 1)]


def fitting(attempt: Attempt, repairs: Iterable[Repair]) -> list[tuple[Repair, tuple[Type, ...]]]:
    """Those of some repairs with which the call goes through, and what it then gives."""
    tried = ((r, attempt.outcome(r)) for r in repairs)
    return [(r, types) for r, types in tried if types is not None]
