"""What a launch says of itself that ends a run: no finite loss, an index out of range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..device import Outcome
from ..diagnostics import Problem, problem
from ..diagnostics.render_json import place
from ..records import NamedTuple
from ..spans import Span
from .metrics import scalar


class Fault(NamedTuple):
    """One launch that went wrong, with all that replays it. `kind`: nonfinite, index."""

    kind: str
    program: str
    step: int
    batch: Mapping[str, Any]
    scalars: Mapping[str, float]
    outcome: Outcome


class Cause(NamedTuple):
    """The operation that was first. `inputs`: minimum, maximum, non_finite of each."""

    operation: str
    scope: str
    span: Span | None = None
    inputs: tuple[Mapping[str, float], ...] = ()


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
    if cause is not None:
        where = f"; ({cause.operation} ...) in {cause.scope or 'the root'} was first"
    else:
        where = ""
    return problem(
        "E-RUN-NONFINITE",
        f"the {told} of step {fault.step} is {value}{where}",
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


def cause_json(cause: Cause | None) -> dict[str, Any] | None:
    """`cause` of a guard event."""
    if cause is None:
        return None
    said: dict[str, Any] = {"scope": cause.scope, "operation": cause.operation}
    if cause.span is not None:
        file, span = place(cause.span)
        said.update(file=file, span=span)
    return {**said, "inputs": [dict(values) for values in cause.inputs]}


def guard(declared: Any) -> tuple[str, int]:
    """`halt`, `skip` or `off`, and how many drops are allowed."""
    if isinstance(declared, (tuple, list)):
        return "skip", int(declared[1])
    return str(declared or "halt").lstrip(":"), 0
