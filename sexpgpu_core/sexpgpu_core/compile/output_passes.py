"""Passes that compute an output (R27): traced as any pass, their results kept for what is saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..experiment.declarations import PassDeclaration
from ..runtime.job import OutputFacts
from ..staging.traced import Parameter, TracedOutput
from .outputs import OfPass, Serving

if TYPE_CHECKING:
    import numpy as np

    from .stages import Tracing

MIXED = -1


def traced_output(
    tracing: Tracing,
    declared: PassDeclaration,
    rows: int,
    known: Mapping[str, Parameter],
    averaged: frozenset[str],
) -> TracedOutput:
    """The output of a pass for so many rows; E-OUTPUT where it cannot run in one."""
    assert declared.output is not None
    serving = _serving(tracing)
    at = declared.loader, declared.stage
    whole = tracing.loaders[at[0]].rows(at[1]) if at[0] and at[1] else None
    of = OfPass(declared, averaged, max(whole, rows) if whole is not None else None)
    found = serving.trace(declared.output, rows, known, of=of)
    given = [n for n in found.own if _random(serving, declared.output, n) is None]
    if given or (declared.loader is None and found.fields):
        name = (given or list(found.fields))[0]
        how = f"({name} :shape (...) :random (normal 1)) draws it"
        more = "" if given else ", and :loader (NAME :stage) reads it"
        raise _refused(declared, f"wants the field {name}", how + more)
    if declared.save is not None and declared.save is not True:
        _check_pictures(declared, found)
    return found


def whole_and_rest(
    tracing: Tracing,
    declared: PassDeclaration,
    known: Mapping[str, Parameter],
    averaged: frozenset[str],
) -> tuple[TracedOutput | None, TracedOutput | None]:
    """For batches of B rows and for the rows that are left; once where it reads no batch."""
    if declared.loader is None or declared.stage is None:
        return traced_output(tracing, declared, 1, known, averaged), None
    loader = tracing.loaders[declared.loader]
    batches, rest = loader.evaluation_rows(declared.stage, declared.batches)
    rows = loader.rows(declared.stage)
    of_whole = traced_output(tracing, declared, rows, known, averaged) if batches else None
    of_rest = traced_output(tracing, declared, rest, known, averaged) if rest else None
    found = of_whole or of_rest
    assert found is not None, "a pass has a batch or a rest"
    if found.rows is None:
        what = f"reads no field of {declared.loader}"
        raise _refused(declared, what, "leave :loader out: it runs once")
    mixed = [n for n, axis in found.axes.items() if axis == MIXED]
    if mixed and batches + bool(rest) > 1:
        what = f"mixes rows in {mixed[0]}, and the pass has {batches + bool(rest)} batches"
        raise _refused(declared, what, ":batches 1, or a result of each row")
    return of_whole, of_rest


def stage_of(tracing: Tracing, declared: PassDeclaration) -> tuple[str, str]:
    """The loader and stage that a pass reads, or is traced beside where it reads none."""
    if declared.loader is not None and declared.stage is not None:
        return declared.loader, declared.stage
    assert declared.output is not None
    return _serving(tracing).stage(declared.output)


def facts_of(tracing: Tracing, declared: PassDeclaration, traced: TracedOutput) -> OutputFacts:
    """What the loop needs to know of an output beside its programs."""
    serving, seed = _serving(tracing), tracing.experiment.run.seed
    how = {n: _random(serving, traced.name, n) for n in traced.own}

    def drawn() -> Mapping[str, np.ndarray]:
        from ..staging.initialize import initial_value

        return {
            n: initial_value(how[n], t, f"output/{traced.name}/{n}", seed)
            for n, t in traced.own.items()
        }

    return OutputFacts(traced.name, traced.axes, _once(drawn), declared.save)


def _random(serving: Serving, output: str, field: str) -> Any:
    """What draws a field with a type of its own."""
    own = serving.output(output).fields[field]
    return None if own is None else own.random


def _once(make: Callable[[], Any]) -> Callable[[], Any]:
    kept: list[Any] = []

    def get() -> Any:
        if not kept:
            kept.append(make())
        return kept[0]

    return get


def _serving(tracing: Tracing) -> Serving:
    return Serving(
        tracing.experiment, tracing.evaluator, tracing.operations, tracing.loaders, tracing
    )


def _check_pictures(declared: PassDeclaration, traced: TracedOutput) -> None:
    """E-OUTPUT of a result that is no (n h w), (n h w 1) or (n h w 3)."""
    for name, value in traced.graph.results.items():
        if not name.startswith("output:"):
            continue
        shape = value.shape
        if len(shape) == 3 or (len(shape) == 4 and shape[3] in (1, 3)):
            continue
        what = f"gives {name.removeprefix('output:')} {value.type}, which is no picture"
        raise _refused(declared, what, "(n h w), (n h w 1) or (n h w 3), from 0 to 1 or u8")


def _refused(declared: PassDeclaration, what: str, hint: str) -> Problem:
    told = f"pass {declared.name} computes {declared.output}, which {what}"
    return problem("E-OUTPUT", told, hint=hint, output=declared.output).locate(declared.span)
