"""The evaluator: whole files, single texts, calls from outside; all mistakes as Problems with places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..diagnostics import Diagnostic, Problem, Problems
from ..reader import Reader, chain_of, span_of
from ..spans import Source, Span
from . import raising, words
from .analyzer import Analyzer
from .definitions import core_symbol
from .exits import Exit
from .machine import Limits, Machine, run_deep
from .modules import Module, ModuleText
from .scope import FunctionScope, Scope, global_scope
from .standard_variables import start_variables
from .values import NIL, Cons, Function, Symbol, Value

ModuleSource = Mapping[str, ModuleText] | Callable[[str], ModuleText | None]


class Evaluator(Machine):
    """One compile's evaluation: the file, what it requires, and the state they share."""

    def __init__(
        self,
        *,
        modules: Any = None,
        limits: Limits = Limits(),  # noqa: B008 - immutable
        read_file: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__(limits)
        start_variables()
        self.module: Module = Module("user")
        self.may_redefine = False
        self.knobs: Mapping[str, Any] = {}
        self.on_form: Callable[[str, Span | None, Value], None] | None = None
        self.analyzer = Analyzer(self)
        self.find_module = modules
        self.read_file = read_file

    def evaluate(self, text: str, module: Module | None = None) -> Value:
        """The value of the last form of a text."""
        target = module or self.module

        def work() -> Value:
            return self._evaluate(Source("-", text), target)

        return self._outside(work)

    def _evaluate(self, source: Source, module: Module) -> Value:
        before, self.module = self.module, module
        try:
            reader = Reader(source, module)
            value: Value = NIL
            forms = list(reader.forms())
            if reader.diagnostics:
                raise Problems(reader.diagnostics)
            for form in forms:
                value = self.evaluate_form(form)
            return value
        finally:
            self.module = before

    def call(self, function: Function, *arguments: Value) -> Value:
        """A call from outside (tracing): full limits, errors as Problems."""

        def work() -> Value:
            try:
                return function.call(*arguments)
            except Exception as error:
                raise raising.raised(self, error, NIL) from None

        return self._outside(work)

    def _outside(self, work: Callable[[], Value]) -> Value:
        depth = self.depth
        if depth == 0:
            self.reset_limits()

        def guarded() -> Value:
            try:
                return work()
            except Exit as leaving:
                raise AssertionError("an exit left the evaluation") from leaving
            finally:
                self.depth = depth
                self.depth_limit = self.limits.depth

        return run_deep(self, guarded)

    def evaluate_form(self, form: Value) -> Value:
        """A form's values in the null lexical environment; definitions take effect in order."""
        while form.__class__ is Cons and form.car.__class__ is Symbol:
            if form.car is core_symbol("PROGN"):
                value: Value = NIL
                rest = form.cdr
                while rest.__class__ is Cons:
                    value = self.evaluate_form(rest.car)
                    rest = rest.cdr
                return value
            expander = self.macro(form.car)
            if expander is None:
                break
            try:
                form = self.analyzer.expand(form, expander, global_scope())
            except Problem as error:
                raise raising.raised(self, error, form) from None
        return self.run(form)

    def run(self, form: Value) -> Value:
        """Analyze, compile and run one form."""
        function = FunctionScope(None)
        node = self.analyzer.node(form, Scope(function, {}, {}, {}, {}))
        return node.compile(self)([None] * function.locals)


__all__ = ["Diagnostic", "Evaluator", "Limits", "Module", "ModuleText", "chain_of", "span_of", "words"]
