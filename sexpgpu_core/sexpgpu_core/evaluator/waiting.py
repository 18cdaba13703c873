"""Definitions of tried modules wait as text until something asks for their names.

A run file uses a few of the functions of a module of layers; reading and analyzing all of them
takes a fifth of a check. What a definition means does not depend on when it is evaluated.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problems
from ..reader import Reader
from ..spans import Source
from .loading import Loading, shadow_names
from .machine import run_deep
from .modules import Module

if TYPE_CHECKING:
    from .evaluator import Evaluator

WAITING = re.compile(
    r"^\((?:defun|defmodel|defoptimizer|defschedule)[ \n]+([^\s()\"'`,;|]+)", re.MULTILINE
)
"""Heads that define a function and do nothing else."""
_LINES = re.compile(
    r'"(?:[^"\\]|\\.)*"|;[^\n]*|#\|.*?\|#|#\\.|(?P<form>^\()', re.MULTILINE | re.DOTALL
)
"""What may hold a parenthesis or a quote that is none; and a form that begins a line."""


class Waiting:
    """The definitions of one module that nothing has asked for yet."""

    def __init__(self, evaluator: Evaluator, source: Source, module: Module) -> None:
        self.evaluator = evaluator
        self.source = source
        self.module = module
        self.reader = Reader(source, module)

    def run(self) -> None:
        """Load what is not a definition, in order; leave a way to the rest in the cells."""
        shadow_names(self.evaluator, self.source, self.module)
        text, rest, at = self.source.text, "", 0
        begins = [m.start() for m in _LINES.finditer(text) if m["form"]]
        for begin, stop in zip(begins, [*begins[1:], len(text)]):
            found = WAITING.match(text, begin)
            if found is None:
                continue
            rest += text[at : found.start()] + " " * (stop - found.start())
            symbol = self.module.intern(found[1].upper())
            define = partial(self._define, found.start())
            self.evaluator.cell(symbol).wait(partial(run_deep, self.evaluator, define))
            at = stop
        Loading(self.evaluator, self.source, self.module, rest + text[at:]).run()

    def _define(self, at: int) -> None:
        """Evaluate the definition that begins there, as if the module were being loaded."""
        evaluator = self.evaluator
        state: dict[str, Any] = {name: getattr(evaluator, name) for name in _STATE}
        loading = Loading(evaluator, self.source, self.module)
        loading.enter()
        try:
            loading.form(self.reader.form_at(at))
        finally:
            for name, value in state.items():
                setattr(evaluator, name, value)
        if loading.errors:
            raise Problems(loading.errors)


_STATE = ("module", "analyzer", "depth", "depth_limit", "handlers", "restarts", "call_form")
"""What a top-level form starts anew, and what asked for it must find again."""
