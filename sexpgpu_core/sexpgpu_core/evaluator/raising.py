"""Python exceptions to Lisp conditions: each is given its place, signalled to the handlers, then
raised.

What no handler takes goes up as `Signalled`, which is signalled no second time.
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import Problem, Related, problem
from ..reader import chain_of, span_of
from ..spans import Span
from .exits import Tag
from .machine import Machine
from .values import NIL, Staged, Symbol, Value

UNWIND_STEPS = 10
SIGNAL_STEPS = 100
"""What it costs that an error leaves a call, and that one is signalled: as much as in time."""


class Signalled(Problem):
    """An error whose handlers have had their turn. `condition`: the Lisp object."""

    condition: Any = None


class Poisoned(Exception):
    """Something was used whose definition has failed; that has been reported."""


def raised(m: Machine, error: BaseException, form: Value) -> BaseException:
    """What to raise at the call `form` for an exception that came out of it."""
    m.fuel -= UNWIND_STEPS
    if error.__class__ is Signalled:
        return _called(m, error, span_of(form))  # type: ignore[arg-type]
    if error.__class__ is Poisoned:
        return error
    if not isinstance(error, Problem):
        error = from_python(error)
    span = span_of(form)
    error.locate(span, chain_of(span))
    return _signalled(m, error)


def _called(m: Machine, error: Signalled, here: Span | None) -> Signalled:
    """Point an error inside an installed module at the call in the file: its author's line."""
    d, library = error.diagnostic, getattr(m, "library", None)
    if library is None or d.span is None or here is None or here.source is d.span.source:
        return error
    if here.source.name != m.module.path or not library.is_installed(d.span.source):
        return error
    inside = Related("it came up in the module, here", d.span)
    edit = d.edit
    if edit is not None and any(c.span.source is not here.source for c in edit.changes):
        edit = None
    error.diagnostic = d._replace(
        span=here, edit=edit, related=(inside, *d.related), expansion=chain_of(here)
    )
    return error


def _signalled(m: Machine, error: Problem) -> BaseException:
    m.fuel -= SIGNAL_STEPS
    code = error.diagnostic.code
    if code.startswith("E-LIMIT") or code == "E-INTERNAL":
        return Signalled(error.diagnostic)
    from .signalling import signal_problem

    return signal_problem(m, error)


def from_python(error: BaseException) -> Problem:
    if isinstance(error, TypeError):
        return problem("E-TYPE", f"a value of the wrong type: {error}")
    if isinstance(error, ZeroDivisionError):
        return problem("E-ARITHMETIC", "division by zero", kind="division-by-zero")
    if isinstance(error, OverflowError):
        return problem("E-ARITHMETIC", "overflow", kind="overflow")
    if isinstance(error, (RecursionError, MemoryError)):
        return problem("E-LIMIT-DEPTH", "a value is nested too deep to be walked")
    return internal(error)


def internal(error: BaseException) -> Problem:
    """E-INTERNAL for an exception that is a bug of ours; the exception goes along for the
    report.
    """
    found = problem("E-INTERNAL", f"{type(error).__name__}: {error}")
    found.__cause__ = error
    return found


def at_form(error: Problem, form: Value) -> Problem:
    """Give an error found at analysis the place of its form."""
    if error.diagnostic.span is None:
        span = span_of(form)
        error.locate(span, chain_of(span))
    return error


def unbound(m: Machine, symbol: Symbol, span: Span | None) -> BaseException:
    """E-NAME-UNBOUND, signalled."""
    from .mistakes import unbound_variable

    if symbol in m.poisoned_variables:
        return Poisoned(symbol.name)
    error = unbound_variable(m, symbol, span)
    error.cell = symbol  # type: ignore[attr-defined]
    error.locate(span, chain_of(span))
    return _signalled(m, error)


def refused(m: Machine, value: Staged, place: str, form: Value) -> BaseException:
    """E-STAGE-TENSOR at a form."""
    return raised(m, value.refuse(place), form)


def left(m: Machine, tag: Tag, form: Value) -> BaseException:
    """E-CONTROL: a block or tagbody whose activation is over."""
    name = f"block {tag.name!r}".lower() if tag.name is not NIL else "the block or tagbody"
    return raised(m, problem("E-CONTROL", f"{name} was left before this leaves it"), form)


def no_catch(m: Machine, name: Value, form: Value) -> BaseException:
    """E-CONTROL: throw without a catch."""
    from .printer import brief

    return raised(m, problem("E-CONTROL", f"no catch waits for the tag {brief(name)}"), form)
