"""The evaluator: whole files, single texts, calls from outside; all mistakes as Problems with
places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..diagnostics import Diagnostic, Problem, Problems, diagnostic, problem
from ..reader import Reader
from ..spans import Source, Span
from . import raising, words
from .analyzer import Analyzer
from .classes import CLASSES
from .definitions import core_symbol
from .exits import Exit
from .loading import Loading, shadow_names
from .machine import Limits, Machine, run_deep
from .modules import Module, ModuleText
from .requiring import Library
from .scope import FunctionScope, Scope
from .standard_variables import start_variables
from .type_specifiers import EXPANDERS
from .values import NIL, UNBOUND, Cons, Function, MultipleValues, Symbol, Value, first_value
from .waiting import Waiting

PROGN = core_symbol("PROGN")


class Evaluator(Machine):
    """One compile's evaluation: the file, what it requires, and the state they share.

    `modules`: name -> (path, text), as a mapping or a function that gives None for what is not
    there. `read_file`: path -> text, for `(require "./file.lisp")`. `on_form`: called with the
    lower-case head, the span and the form of each top-level form before it is evaluated.
    """

    __slots__ = ("analyzer", "knobs", "library", "on_form")

    def __init__(
        self,
        *,
        modules: Mapping[str, ModuleText] | Callable[[str], ModuleText | None] | None = None,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        read_file: Callable[[str], str] | None = None,
        on_form: Callable[[str, Span | None, Value], None] | None = None,
    ) -> None:
        super().__init__(limits)
        start_variables()
        self.module = Module("user")
        self.knobs: Mapping[str, Any] = {}
        self.on_form = on_form
        self.analyzer = Analyzer(self)
        self.library = Library(modules, read_file, self._load)

    def load(self, source: Source, *, knobs: Mapping[str, Any] | None = None) -> Module:
        """Read and evaluate a whole file; Problems with all that is wrong in it."""
        self.knobs = knobs or {}
        self.module = module = Module(source.name, source.name)
        self.library.loading.append(source.name)
        self._outside(lambda: self._load(source, module, False))
        return module

    def _load(self, source: Source, module: Module, tried: bool) -> None:
        kind = Waiting if tried else Loading
        kind(self, source, module).run()

    def evaluate(self, text: str, module: Module | None = None) -> Value:
        """The values of the last form of a text."""
        target = module or self.module
        return self._outside(lambda: self._evaluate(Source("-", text), target))

    def value_of(self, form: Value) -> Value:
        """The values of a form that is no text any more."""
        return self._outside(lambda: self.evaluate_form(form))

    def _evaluate(self, source: Source, module: Module) -> Value:
        before, self.module = self.module, module
        try:
            shadow_names(self, source, module)
            reader = Reader(source, module)
            forms = list(reader.forms())
            errors = [d for d in reader.diagnostics if d.is_error]
            if errors:
                raise Problems(errors)
            value: Value = NIL
            for form in forms:
                value = self.evaluate_form(form)
            return value
        finally:
            self.module = before

    def shown(self, value: Value) -> list[tuple[str, str]]:
        """Text and type of each of the values, as methods of the file print them."""
        from .builtins.types import type_of
        from .printer import print_text

        several = value if isinstance(value, MultipleValues) else (value,)

        def work() -> list[tuple[str, str]]:
            return [(print_text(v), print_text(type_of(v))) for v in several]

        found: list[tuple[str, str]] = self._outside(work)
        return found

    def call(self, function: Function, *arguments: Value) -> Value:
        """A call from outside (tracing): full limits, errors as Problems with spans."""

        def work() -> Value:
            try:
                return function.call(*arguments)
            except Exception as error:
                raise raising.raised(self, error, NIL) from None

        return self._outside(work)

    def each(
        self, function: Function, rows: Sequence[tuple[Value, ...]], before: Callable[[int], None]
    ) -> list[Value]:
        """First values of a function for rows of arguments, each call under full limits.
        `before`: told the row's number."""

        def one(at: int, row: tuple[Value, ...]) -> Value:
            if self.depth == 0:
                self.reset_limits()
            before(at)
            try:
                return first_value(function.call(*row))
            except Exception as error:
                raise raising.raised(self, error, NIL) from None

        found: list[Value] = self._outside(lambda: [one(at, row) for at, row in enumerate(rows)])
        return found

    def _outside(self, work: Callable[[], Any]) -> Any:
        """Run on a deep stack; what leaves is a value, a Problem or Problems."""
        depth = self.depth
        if depth == 0:
            self.reset_limits()

        def guarded() -> Any:
            try:
                return work()
            except (Problem, Problems):
                raise
            except Exit as leaving:
                name = f"{leaving.tag.name!r}"
                raise problem("E-CONTROL", f"an exit to {name} has no place to go") from None
            except raising.Poisoned as error:
                raise problem("E-NAME-FUNCTION", f"the definition of {error} failed") from None
            except Exception as error:
                raise raising.internal(error) from error
            finally:
                self.depth = depth
                if depth == 0:
                    self.depth_limit = self.limits.depth
                    self.handlers = self.restarts = None
                    self.catchers.clear()

        return run_deep(self, guarded)

    def evaluate_form(self, form: Value) -> Value:
        """A form's values in the null lexical environment; definitions take effect in order."""
        try:
            form = self.analyzer.expand_top(form)
        except Problem as error:
            raise raising.raised(self, error, form) from None
        if form.__class__ is Cons and form.car is PROGN:
            value: Value = NIL
            rest = form.cdr
            while rest.__class__ is Cons:
                value = self.evaluate_form(rest.car)
                rest = rest.cdr
            return value
        function = FunctionScope(None)
        try:
            self.analyzer.depth = 0
            node = self.analyzer.node(form, Scope(function, {}, {}, {}, {}))
            return node.compile(self)([None] * function.locals)
        except Problem as error:
            raise raising.at_form(error, form) from None

    def is_defined(self, symbol: Symbol) -> bool:
        """Whether anything of that name was defined."""
        cell = self.cells.get(symbol)
        return (
            (cell is not None and (cell.defined or cell.poisoned))
            or symbol in self.macros
            or symbol.value is not UNBOUND
            or symbol in self.symbol_macros
            or symbol in self.setf_expanders
            or symbol in CLASSES
            or symbol in EXPANDERS
            or symbol in self.poisoned_variables
        )

    def unused_modules(self, module: Module) -> list[Diagnostic]:
        """W-UNUSED for each module that was required under a prefix that is never written."""
        found = []
        for need in module.needs:
            if need.imports is None and need.prefix not in module.used:
                message = f"nothing of the module {need.name} is used"
                hint = f"delete it, or write {need.prefix.lower()}:NAME"
                found.append(
                    diagnostic(
                        "W-UNUSED",
                        message,
                        span=need.span,
                        hint=hint,
                        kind="module",
                        name=need.name,
                    )
                )
        return found

    def define_function(self, module: Module, name: Symbol | str, function: Function) -> Symbol:
        """Define a global function from Python; a name as text is the module's own."""
        symbol = module.intern(name.upper()) if isinstance(name, str) else name
        self.analyzer.check_definable(symbol, "function")
        self.macros.pop(symbol, None)
        self.cell(symbol).define(function)
        return symbol

    def define_variable(self, module: Module, name: Symbol | str, value: Value) -> Symbol:
        """Define a global special variable from Python."""
        symbol = module.intern(name.upper()) if isinstance(name, str) else name
        self.analyzer.check_definable(symbol, "variable")
        return self.define_variable_value(symbol, value)

    def define_macro(
        self, module: Module, name: Symbol | str, expander: Callable[[Value, Any], Value]
    ) -> Symbol:
        """Define a global macro from Python: (form, environment) -> form."""
        symbol = module.intern(name.upper()) if isinstance(name, str) else name
        self.analyzer.check_definable(symbol, "macro")
        self.macros[symbol] = expander
        return symbol


__all__ = ["Evaluator", "Limits", "Module", "ModuleText", "words"]
