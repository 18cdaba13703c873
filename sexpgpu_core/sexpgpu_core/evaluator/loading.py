"""A whole text form by form: what is wrong in one form keeps no other from being looked at.

A definition that failed poisons its name, so that nothing is reported because of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..diagnostics import Change, Diagnostic, Edit, Problem, Problems, diagnostic, problem
from ..reader import Reader, chain_of, element_span, span_of
from ..spans import Source, Span
from . import raising
from .analyzer import Analyzer
from .closures import wrong_count
from .definitions import TENSOR_NAMES, core_symbol
from .exits import Exit
from .function_forms import is_setf_name
from .mistakes import no_function_named, unbound_variable
from .modules import Module
from .prescan import definitions
from .requiring import head_name, provide
from .scope import FunctionScope, Scope
from .values import NIL, UNBOUND, Cons, Symbol, Value

if TYPE_CHECKING:
    from .evaluator import Evaluator

PROGN = core_symbol("PROGN")
HEADS = ("require", "provide")


class Loading:
    """The loading of one text into one module. `text`: what to read of it, all by default."""

    def __init__(
        self, evaluator: Evaluator, source: Source, module: Module, text: str | None = None
    ) -> None:
        self.evaluator = evaluator
        self.source = source
        self.module = module
        self.text = source.text if text is None else text
        self.errors: list[Diagnostic] = []
        self.stopped = False
        self.refused: set[str] = set()  # names that could not be defined
        self.nesting = 0  # of progns at top level
        self.atoms: dict[int, Cons] = {}  # those among the forms, by number, with their places
        self.at: Cons | None = None

    def run(self) -> None:
        """Load; raises Problems with all that is wrong, in source order."""
        evaluator = self.evaluator
        before, analyzer = evaluator.module, evaluator.analyzer
        self.enter()
        try:
            shadow_names(evaluator, self.source, self.module)
            forms = self._read()
            for number, form in enumerate(forms):
                if not self.stopped:
                    self.form(form, self.atoms.get(number))
            if not self.stopped:
                self._check_references()
                self._check_exports(forms)
        finally:
            evaluator.module, evaluator.analyzer = before, analyzer
        if self.errors:
            raise Problems(in_order(self._own_errors()))

    def enter(self) -> None:
        """Make the module the one whose forms are evaluated."""
        evaluator = self.evaluator
        evaluator.module, evaluator.analyzer = self.module, Analyzer(evaluator)
        evaluator.analyzer.loading = True
        self.refused = evaluator.analyzer.refused

    def _read(self) -> list[Value]:
        """All forms; what is required is loaded on the way, since later names depend on it."""
        reader = Reader(self.source, self.module, self.text)
        forms: list[Value] = []
        for form in reader.forms():
            if form.__class__ is not Cons:
                place = reader.span(reader.start, reader.end)
                self.atoms[len(forms)] = Cons(form, NIL, place)
            forms.append(form)
            if head_name(form) in HEADS and form.car.home == "":
                reader.forget_names()
                try:
                    self._head(form)
                except Problem as error:
                    self.errors.append(raising.at_form(error, form).diagnostic)
                except Problems as errors:
                    self.errors += errors.diagnostics
                    raise Problems(self.errors) from None
        for found in reader.diagnostics:
            if found.is_error:
                self.errors.append(found)
            else:
                self.evaluator.warn(found)
        if self.errors:
            raise Problems(in_order(self.errors))
        return forms

    def _head(self, form: Cons) -> None:
        if head_name(form) == "require":
            self.evaluator.library.require(form, self.module)
        else:
            provide(form, self.module)

    def _own_errors(self) -> list[Diagnostic]:
        """Without those of calls of what could not be defined: its name means another thing."""
        facts = ("form", "function", "name")
        return [
            d
            for d in self.errors
            if d.code == "E-REDEFINE" or not self.refused.intersection(map(d.facts.get, facts))
        ]

    def form(self, form: Value, at: Cons | None = None) -> None:
        """Evaluate a top-level form; what is wrong with it joins `errors`. `at` holds an atom."""
        evaluator = self.evaluator
        self.at = at
        head = head_name(form)
        span = span_of(form)
        try:
            if evaluator.on_form is not None:
                evaluator.on_form(head, span, form)
            if head not in HEADS:
                self._evaluate(form)
        except Exception as error:
            self._failed(error, form)
        except Exit as leaving:
            name = f"{leaving.tag.name!r}"
            self._failed(problem("E-CONTROL", f"an exit to {name} has no place to go"), form)
        evaluator.depth = 0
        evaluator.depth_limit = evaluator.limits.depth
        evaluator.handlers = evaluator.restarts = None

    def _evaluate(self, form: Value) -> None:
        """A top-level form; the forms of a progn are top-level forms of their own."""
        form = self.evaluator.analyzer.expand_top(form)
        if form.__class__ is not Cons or form.car is not PROGN:
            self._run(form)
            return
        self.nesting += 1
        if self.nesting > self.evaluator.limits.depth // 4:
            raise problem("E-LIMIT-DEPTH", "a macro expands into a progn with calls of itself")
        rest = form.cdr
        while rest.__class__ is Cons and not self.stopped:
            self._part(rest.car)
            rest = rest.cdr
        self.nesting -= 1

    def _part(self, form: Value) -> None:
        try:
            self._evaluate(form)
        except Exception as error:
            self._failed(error, form)

    def _run(self, form: Value) -> None:
        evaluator = self.evaluator
        analyzer = evaluator.analyzer
        before = len(analyzer.errors)
        analyzer.depth = 0
        self._check_head(form)
        function = FunctionScope(None)
        node = analyzer.node(form, Scope(function, {}, {}, {}, {}), None, self.at)
        if len(analyzer.errors) > before:
            self.errors += analyzer.errors[before:]
            self.poison(form)
            return
        node.compile(evaluator)([None] * function.locals)

    def _check_head(self, form: Value) -> None:
        """A form that starts with no known name is not looked into."""
        if form.__class__ is Cons and form.car.__class__ is Symbol and form.car.home != "":
            cell = self.evaluator.cell(form.car)
            if cell.function is None and not cell.poisoned:
                raise self._undefined(cell, form)

    def _failed(self, error: BaseException, form: Value) -> None:
        self.poison(form)
        if isinstance(error, raising.Poisoned):
            return
        if isinstance(error, Problems):
            self.errors += error.diagnostics
            return
        if not isinstance(error, Problem):
            error = raising.internal(error)
        span = span_of(form)
        found = error.locate(span, chain_of(span)).diagnostic
        self.errors.append(found)
        self.stopped = found.code == "E-LIMIT-STEPS"

    def poison(self, form: Value) -> None:
        """What the form would have defined raises nothing more."""
        if not head_name(form).startswith("def") or form.cdr.__class__ is not Cons:
            return
        name = form.cdr.car
        if is_setf_name(name):
            self.evaluator.setf_cell(name.cdr.car, name).poisoned = True
            return
        if name.__class__ is Cons:
            name = name.car
        self._poison_readers(form.cdr.cdr)
        if name.__class__ is Symbol and name.home != "":
            cell = self.evaluator.cell(name)
            cell.poisoned = cell.function is None
            if name.value is UNBOUND:
                self.evaluator.poisoned_variables.add(name)

    def _poison_readers(self, form: Value) -> None:
        """The same for the readers of the slots that a class would have had."""
        for slot in _parts(_part(form, 1)):
            options = _parts(slot)
            for key, name in zip(options[1::2], options[2::2]):
                if repr(key) in (":reader", ":accessor") and name.__class__ is Symbol:
                    cell = self.evaluator.cell(name)
                    cell.poisoned = cell.function is None

    def _check_references(self) -> None:
        """Functions and variables that nothing defined, also where no call was made."""
        evaluator = self.evaluator
        for cell, given, form in evaluator.analyzer.calls:
            function = cell.function
            if cell.poisoned:
                continue
            if function is None:
                error = self._undefined(cell, form)
            elif given >= 0 and not function.least <= given <= _most(function):
                error = wrong_count(function, given)
            else:
                continue
            self._note(raising.at_form(error, form).diagnostic)
        for reference in evaluator.analyzer.references:
            symbol = reference.symbol
            if symbol.value is UNBOUND and not symbol.special:
                if symbol in evaluator.poisoned_variables or symbol in evaluator.symbol_macros:
                    continue
                span = element_span(reference.at)
                error = unbound_variable(evaluator, symbol, span).locate(span, chain_of(span))
                self._note(error.diagnostic)

        for symbol, at in evaluator.analyzer.assignments:
            if not symbol.special and symbol not in evaluator.poisoned_variables:
                self._note(_not_bound(symbol, at))

    def _undefined(self, cell: object, form: Cons) -> Problem:
        name = form.car
        if name.__class__ is Symbol and self.evaluator.macro(name) is not None:
            return problem(
                "E-NAME-FUNCTION",
                f"the macro {name!r} is used before its definition",
                hint=f"move (defmacro {name!r} ...) above its first use",
                name=repr(name),
            )
        return no_function_named(self.evaluator, cell, form)  # type: ignore[arg-type]

    def _note(self, found: Diagnostic) -> None:
        """Keep an error, unless its place has one of that code."""
        if not any(e.code == found.code and e.span == found.span for e in self.errors):
            self.errors.append(found)

    def _check_exports(self, forms: list[Value]) -> None:
        evaluator = self.evaluator
        for form in forms:
            if head_name(form) != "provide":
                continue
            rest = form.cdr
            while rest is not NIL:
                symbol = self.module.exports[rest.car.name]
                if symbol.name not in self.module.defined and not evaluator.is_defined(symbol):
                    self._note(self._not_provided(symbol, rest))
                rest = rest.cdr

    def _not_provided(self, symbol: Symbol, at: Cons) -> Diagnostic:
        return diagnostic(
            "E-PROVIDE",
            f"{symbol!r} is provided but nothing defines it",
            span=element_span(at),
            hint=f"define {symbol!r} in this module, or leave it out of (provide ...)",
            edit=_without(element_span(at), f"leave {symbol!r} out"),
            name=repr(symbol),
        )


def shadow_names(evaluator: Evaluator, source: Source, module: Module) -> None:
    """Let a text own the tensor builtins' names that it defines at top level: W-SHADOW each."""
    for found in definitions(source.text):
        module.defined.add(found.name)
        name = found.name.lower()
        if found.name not in TENSOR_NAMES and name not in TENSOR_NAMES:
            continue
        if module.symbols.get(found.name) is not None:
            continue
        module.own(found.name)
        message = f"{name} is also a builtin on tensors; in this file it is the file's own"
        span = Span(source, found.start, found.end)
        evaluator.warn(diagnostic("W-SHADOW", message, span=span, name=name))


def _without(span: Span | None, title: str) -> Edit | None:
    return Edit(title, (Change(span, ""),)) if span is not None else None


def _not_bound(symbol: Symbol, at: Cons) -> Diagnostic:
    span = element_span(at)
    return diagnostic(
        "E-NAME-UNBOUND",
        f"nothing binds the variable {symbol!r} that is assigned here",
        span=span,
        expansion=chain_of(span),
        hint=f"bind it with let, or write (defparameter {symbol!r} ...) before",
        name=repr(symbol),
    )


def _parts(form: Value) -> list[Value]:
    """The elements of a list as far as it is one."""
    items = []
    while form.__class__ is Cons:
        items.append(form.car)
        form = form.cdr
    return items


def _part(form: Value, at: int) -> Value:
    items = _parts(form)
    return items[at] if at < len(items) else NIL


def _most(function: object) -> float:
    most = getattr(function, "most", None)
    return most if most is not None else float("inf")


def in_order(errors: list[Diagnostic]) -> list[Diagnostic]:
    """By place; what has none comes last."""
    return sorted(errors, key=lambda d: (d.span is None, d.span.start if d.span else 0))


__all__ = ["Loading", "in_order", "shadow_names"]
