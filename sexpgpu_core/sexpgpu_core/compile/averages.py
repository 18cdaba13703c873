"""Who reads averaged weights, and whether any are kept (R28, R36)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, diagnostic, problem
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import PassDeclaration
from ..spans import Span
from ..staging.faults import option_span
from ..staging.traced import Optimization, Traced, TracedOutput
from ..step.updates import averaged_states, groups_due

if TYPE_CHECKING:
    from .stages import StageTrace


def averaged_paths(stages: Iterable[StageTrace]) -> frozenset[str]:
    """Paths of parameters and states that an average is kept of."""
    found: set[str] = set()
    for stage in stages:
        if stage.optimization.ema is not None:
            found |= set(groups_due(stage.optimization))
            states = averaged_states(stage.traced, stage.optimization)
            found |= {name.partition(":")[2] for name in states}
    return frozenset(found)


def check_averages(declared: PassDeclaration, stages: Collection[StageTrace]) -> None:
    """E-EMA-MISSING of a pass with `:weights :ema`."""
    if declared.weights != "ema":
        return
    if all(stage.optimization.ema is None for stage in stages):
        span = option_span(declared.span, "weights") or declared.span
        raise _missing(f"pass {declared.name} reads averaged weights", span)


def check_states(
    evaluator: Evaluator, declared: PassDeclaration, traced: Traced | TracedOutput | None
) -> None:
    """W-EMA-STATE of a pass that reads averaged weights and live statistics beside them."""
    if declared.weights != "ema" or traced is None:
        return
    live = [n.get("name") for n in traced.graph.inputs() if n.get("kind") == "state"]
    if live:
        evaluator.warn(
            diagnostic(
                "W-EMA-STATE",
                f"pass {declared.name} reads averaged weights and the live {live[0]}",
                span=declared.span,
                hint="(groups :ema decay :ema-state t ...) averages float states as well",
                states=live,
            )
        )


def check_reads(traced: Traced, optimization: Optimization) -> None:
    """E-EMA-MISSING where a training graph reads averages that nobody keeps."""
    if optimization.ema is not None:
        return
    for node in traced.graph.inputs():
        if node.get("kind") == "ema":
            origin: Any = traced.graph.origin(node)
            raise _missing("with-weights :ema", traced.averages_at or (origin and origin.span))


def _missing(what: str, span: Span | None) -> Problem:
    return problem(
        "E-EMA-MISSING", f"{what}, and groups keep none", hint="(groups :ema 0.999 ...)"
    ).locate(span)
