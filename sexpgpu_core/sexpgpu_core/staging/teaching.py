"""A mistake about shapes or dtypes to one that teaches: where operands come from, what mends it.

Only asked for once a call has failed; a call that goes through pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..diagnostics import Diagnostic, Problem, diagnostic, lookup
from ..evaluator import machine
from ..evaluator.values import Value
from ..ir.types import Type
from .attempt import Attempt, Repair, fitting
from .host import tracer
from .origins import called_from_file
from .provenance import dimensions, provenance
from .repairs import RULES
from .tensor import GENERIC, is_tensor

Again = Callable[..., Value]
Options = Mapping[str, Value]
Fitting = list[tuple[Repair, tuple[Type, ...]]]


def taught(
    error: Problem, name: str, again: Again, arguments: tuple[Value, ...], options: Options
) -> Problem:
    """The problem of a failed call with notes, hint and edit; itself once it has a place."""
    if error.diagnostic.span is None:
        error.diagnostic = explained(error.diagnostic, name, again, arguments, options)
    return error


def explained(
    d: Diagnostic, name: str, again: Again, arguments: tuple[Value, ...], options: Options
) -> Diagnostic:
    """A diagnostic of a call with what is known of it."""
    if not any(map(is_tensor, (*arguments, *options.values()))):
        return d
    attempt = Attempt(tracer(name), name, again, arguments, options)
    d = _renamed(d, name)
    notes = (*provenance(attempt, d.message), *dimensions(attempt.t, d.facts.get("sizes", ())))
    d = d._replace(related=(*d.related, *notes))
    if d.hint == lookup(d.code).fix:
        d = d._replace(hint=_signature(name))
    return d if d.edit is not None else _mended(d, attempt)


def _signature(name: str) -> str:
    """The call and what its docstring begins with."""
    function = GENERIC[name]
    operands, keys, _ = function.lambda_list.partition(" &key")
    rule = " ".join(function.doc.split()).split(". ")[0].rstrip(".")
    call = f"({name} {operands.strip('()').replace('&rest ', '')}{' ...' if keys else ''})"
    return f"{call}: {rule}"


def warn_of(
    code: str, message: str, name: str, again: Again, values: tuple[Value, ...], hint: str
) -> None:
    """A warning of a call, explained; once a place."""
    evaluator = machine.current()
    found = diagnostic(code, message, span=called_from_file(), hint=hint, name=name)
    known = [(d.code, d.span, d.message) for d in evaluator.diagnostics]
    if (code, found.span, found.message) not in known:
        evaluator.warn(explained(found, name, again, values, {}))


def _renamed(d: Diagnostic, name: str) -> Diagnostic:
    """Told of the builtin that the file calls, not of the operation below it."""
    operation = d.facts.get("operation")
    if not operation or operation == name:
        return d
    message = d.message
    if message.startswith((f"{operation}:", f"{operation} ")):
        message = name + message[len(operation) :]
    return d._replace(message=message, facts={**d.facts, "operation": name})


def _mended(d: Diagnostic, attempt: Attempt) -> Diagnostic:
    """With what the first group of repairs gives that fits at all."""
    rule = RULES.get(d.code)
    for group in rule(attempt, d) if rule is not None else ():
        found = fitting(attempt, group)
        if d.code == "E-SHAPE-BROADCAST":
            found = [(r, types) for r, types in found if _one_grows(attempt, types)]
        if found:
            return _told(d, attempt, found)
    return d


def _one_grows(attempt: Attempt, types: tuple[Type, ...]) -> bool:
    """Whether the result has the shape of an operand: otherwise another thing would be computed."""
    shapes = [v.shape for _, v in attempt.tensors]
    return all(t.shape in shapes for t in types)


def _told(d: Diagnostic, attempt: Attempt, found: Fitting) -> Diagnostic:
    shown = [f"{attempt.shown(r)} gives {', '.join(map(str, types))}" for r, types in found]
    if len(found) > 1:
        return d._replace(hint="more than one thing fits: " + "; ".join(shown[:3]))
    return d._replace(hint=shown[0], edit=attempt.edit(found[0][0]))
