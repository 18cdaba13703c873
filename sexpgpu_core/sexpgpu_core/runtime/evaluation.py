"""One evaluation pass: every example of its stage once, no padding, sums added in f64."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..data.loader import Loader
from ..device import Outcome
from ..records import NamedTuple
from .fault import Cause, Fault, index
from .job import MetricSpec, PassFacts, ProgramFacts
from .metrics import Accumulator, joined, scalar
from .progress import evaluate

if TYPE_CHECKING:
    from ..device import Pending, Session

_IN_FLIGHT = 2


class Wrong(NamedTuple):
    """The first launch of a pass with a metric that is not finite, and what made it."""

    metric: str
    value: float
    cause: Cause | None


class PassResult(NamedTuple):
    """`metrics` by name as written, without the pass's; `arrays`: what an output gives."""

    metrics: dict[str, float]
    examples: int
    batches: int
    complete: bool
    arrays: Mapping[str, Any] = {}
    wrong: Wrong | None = None


def run_pass(
    session: Session,
    facts: PassFacts,
    loader: Loader | None,
    context: Mapping[str, float],
    stopped: Callable[[], bool],
    explain: Callable[[Fault], Cause | None],
) -> PassResult | None:
    """Run it; None where `stopped` broke it off. Raises E-RUN-INDEX and what the loader does.

    `context`: the step scalars of the moment; `position` is added, the first row's example.
    `loader` None: of an output that reads no batch.
    """
    program = facts.whole or facts.rest
    if program is None:
        return PassResult({}, 0, 0, True)
    total, flying = Total(program.metrics, facts), deque[tuple[Fault, "Pending", int]]()
    examples = batches = 0
    drawn = facts.output.drawn() if facts.output is not None else {}
    for batch in _batches(facts, loader, tuple(program.fields)):
        if stopped():
            _settle_all(flying, total, explain)
            return None
        chosen = _program_for(facts, batch)
        at = {**context, "position": examples}
        flying.append(_launch(session, chosen, batch, at, drawn))
        examples += chosen.rows if loader is not None else 0
        batches += 1
        while len(flying) >= _IN_FLIGHT:
            _settle(*flying.popleft(), total, explain)
    _settle_all(flying, total, explain)
    if facts.end is not None:
        at = {**context, "position": 0}
        _settle(*_launch(session, facts.end, total.joined(), at), total, explain)
    seen = loader.examples(facts.stage) if loader is not None else None
    whole = seen is None or examples == seen
    return PassResult(total.values(), examples, batches, whole, total.outputs(), total.wrong)


def _batches(
    facts: PassFacts, loader: Loader | None, names: tuple[str, ...]
) -> Iterable[Mapping[str, Any]]:
    return [{}] if loader is None else loader.evaluation(facts.stage, facts.batches, names)


class Total:
    """What a pass reports: sums over its batches, and what is computed once of what `end` reads of
    every batch; and the arrays of an output."""

    def __init__(self, specs: tuple[MetricSpec, ...], facts: PassFacts) -> None:
        end = facts.end
        self._sums = Accumulator(specs)
        self._ends = Accumulator(end.metrics if end is not None else ())
        self._pieces: dict[str, list[Any]] = {n: [] for n in (end.fields if end else ())}
        self._program = end.program if end is not None else ""
        self._axes = facts.output.axes if facts.output is not None else {}
        self._outputs: dict[str, list[Any]] = {name: [] for name in self._axes}
        self.wrong: Wrong | None = None

    def add(self, program: str, results: Mapping[str, Any], rows: int) -> None:
        """The results of one batch, or of the end."""
        if program == self._program:
            self._ends.add(results)
            return
        self._sums.add(results, rows)
        for name, pieces in self._pieces.items():
            pieces.append(results[name])
        for name, pieces in self._outputs.items():
            if self._axes[name] is not None or not pieces:
                pieces.append(results[f"output:{name}"])

    def outputs(self) -> dict[str, Any]:
        """By name, rows of every batch in order; what has none is the first batch's."""
        return {name: joined(pieces, self._axes[name]) for name, pieces in self._outputs.items()}

    def joined(self) -> dict[str, Any]:
        """The fields of the end: rows of every batch in order."""
        import numpy as np

        return {name: np.concatenate(pieces) for name, pieces in self._pieces.items()}

    def values(self) -> dict[str, float]:
        return {**self._sums.values(), **self._ends.values()}


def _program_for(facts: PassFacts, batch: Mapping[str, Any]) -> ProgramFacts:
    rows = len(next(iter(batch.values()))) if batch else None
    for program in (facts.whole, facts.rest):
        if program is not None and rows in (None, program.rows):
            return program
    # `(whole)` data has no batch axis: its one program takes it
    chosen = facts.whole or facts.rest
    assert chosen is not None
    return chosen


def _launch(
    session: Session,
    program: ProgramFacts,
    batch: Mapping[str, Any],
    context: Mapping[str, float],
    drawn: Mapping[str, Any] = {},
) -> tuple[Fault, Pending, int]:
    scalars = evaluate(program.scalars, context)
    fields = {**{name: batch[name] for name in program.fields}, **drawn}
    step = int(context["step"])
    fault = Fault("index", program.program, step, fields, scalars, Outcome(True))
    return fault, session.program(program.program).launch(fields, scalars), program.rows


def _settle(
    fault: Fault,
    pending: Pending,
    rows: int,
    total: Total,
    explain: Callable[[Fault], Cause | None],
) -> None:
    outcome = pending.outcome()
    if outcome.error is not None:
        found = fault._replace(outcome=outcome)
        raise index(found, explain(found))
    if total.wrong is None and (named := _not_finite(outcome.results)) is not None:
        same = fault._replace(kind="nonfinite", outcome=outcome)
        total.wrong = Wrong(*named, explain(same))  # by the weights of the pass
    total.add(fault.program, outcome.results, rows)


def _not_finite(results: Mapping[str, Any]) -> tuple[str, float] | None:
    """The first metric of a launch that is not finite; an extreme of nothing may be infinite."""
    for name, array in results.items():
        kind, _, metric = name.partition(":")
        if kind == "metric":
            value = scalar(array)
            if math.isnan(value) or (name.endswith(":sum") and not math.isfinite(value)):
                return metric.rpartition(":")[0], value
    return None


def _settle_all(
    flying: deque[tuple[Fault, Pending, int]],
    total: Total,
    explain: Callable[[Fault], Cause | None],
) -> None:
    while flying:
        _settle(*flying.popleft(), total, explain)
