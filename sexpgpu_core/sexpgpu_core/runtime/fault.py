"""What a launch says of itself that ends a run: no finite loss, an index out of range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..device import Outcome
from ..diagnostics import Diagnostic, Problem, diagnostic, problem
from ..diagnostics.render_json import place
from ..records import NamedTuple
from ..spans import Span
from .metrics import scalar

if TYPE_CHECKING:
    from ..ir import Graph


class Fault(NamedTuple):
    """One launch that went wrong, with all that replays it. `kind`: nonfinite, index. `graph`: of
    a program that was not there when the run began."""

    kind: str
    program: str
    step: int
    batch: Mapping[str, Any]
    scalars: Mapping[str, float]
    outcome: Outcome
    graph: Graph | None = None


class Left(NamedTuple):
    """A scope whose scale, its greatest magnitude, is far above `most`, that of earlier `steps`."""

    scope: str
    scale: float
    most: float
    steps: tuple[int, ...]


class Cause(NamedTuple):
    """The operation that was first. `inputs`: minimum, maximum, non_finite of each. `left`: of a
    step, the first scope in the forward pass whose scale left its history. `gradient`: whether the
    operation is of the gradient of what the span shows; `squares`: the dtype of the norm, where
    it is of that and all gradients are finite."""

    operation: str
    scope: str
    span: Span | None = None
    inputs: tuple[Mapping[str, float], ...] = ()
    left: Left | None = None
    gradient: bool = False
    squares: str = ""

    def told(self) -> str:
        """As a message goes on."""
        of = f" of the gradient of {_form(self.span)}" if self.gradient else ""
        where = f"; ({self.operation} ...){of} in {self.scope or 'the root'} was first"
        if self.squares:
            told = f"the sum of their squares is too large for {self.squares}"
            where = f"; every gradient is finite, but {told}"
        if self.left is None:
            return where
        scope, scale, most, steps = self.left
        known = ", ".join(map(str, steps))
        return (
            f"{where}; the scale of {scope or 'the root'} left its history first: {scale:.3g}, "
            f"at most {most:.3g} by the values of step {known}"
        )


def _form(span: Span | None) -> str:
    """`(sqrt ...)` of a span."""
    head = span.text.split()[0].rstrip(")") if span is not None and span.text.split() else "it"
    return f"{head} ...)" if head.startswith("(") else head


Explain = Callable[[Fault], "Cause | None"]
"""Finds the cause by replaying; None: not reproduced (45.19)."""


def watched(outcome: Outcome) -> tuple[str, float]:
    """What the guard saw, the loss before the norm: its name and value."""
    losses = {k: v for k, v in outcome.results.items() if k == "loss" or k.startswith("loss:")}
    for value in losses.values():
        if not math.isfinite(scalar(value)):
            return "loss", scalar(value)
    norm = outcome.results.get("norm")
    return "gradient-norm", math.nan if norm is None else scalar(norm)


def nonfinite(fault: Fault, cause: Cause | None) -> Problem:
    """E-RUN-NONFINITE of a halt."""
    name, value = watched(fault.outcome)
    told = "loss" if name == "loss" else "gradient norm"
    why = cause.told() if cause else "; not reproduced"
    return problem(
        "E-RUN-NONFINITE",
        f"the {told} of step {fault.step} is {value}{why}",
        span=cause.span if cause else None,
        scope=cause.scope if cause else None,
        step=fault.step,
        watched=name,
        value=value,
        **({"operation": cause.operation} if cause else {}),
    )


def index(fault: Fault, cause: Cause | None) -> Problem:
    """E-RUN-INDEX of a step or pass."""
    call, row = fault.outcome.error or (-1, -1)
    what = f"({cause.operation} ...)" if cause else f"call {call} of {fault.program}"
    return problem(
        "E-RUN-INDEX",
        f"an index was out of range in step {fault.step}: {what}, row {row}",
        span=cause.span if cause else None,
        scope=cause.scope if cause else None,
        step=fault.step,
        program=fault.program,
        call=call,
        row=row,
    )


def warning(code: str, told: str, cause: Cause | None, **facts: Any) -> Diagnostic:
    """Of a number that is not finite and ends nothing."""
    if cause is not None:
        told, facts = told + cause.told(), {**facts, "operation": cause.operation}
    found = diagnostic(code, told, **facts)
    return found if cause is None else found._replace(span=cause.span, scope=cause.scope)


def cause_json(cause: Cause | None) -> dict[str, Any] | None:
    """`cause` of a guard event."""
    if cause is None:
        return None
    said: dict[str, Any] = {"scope": cause.scope, "operation": cause.operation}
    if cause.span is not None:
        file, span = place(cause.span)
        said.update(file=file, span=span)
    if cause.left is not None:
        said["left"] = {**cause.left._asdict(), "steps": list(cause.left.steps)}
    return {**said, "inputs": [dict(values) for values in cause.inputs]}


def guard(declared: Any) -> tuple[str, int]:
    """`halt`, `skip` or `off`, and how many drops are allowed."""
    if isinstance(declared, (tuple, list)):
        return "skip", int(declared[1])
    return str(declared or "halt").lstrip(":"), 0
