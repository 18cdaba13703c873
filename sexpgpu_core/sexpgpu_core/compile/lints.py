"""What is legal and seldom meant: states that nothing sets, passes that see a part, metrics of a
smoothed loss, decay of norms and biases, schedules that do not fit the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Diagnostic, diagnostic
from ..ir import Graph
from ..ir.graph import Node
from ..staging.faults import option_span
from ..staging.traced import Group

if TYPE_CHECKING:
    from ..data.loader import Loader
    from .stages import PassTrace, StageTrace


def unset(stages: Iterable[StageTrace]) -> list[Diagnostic]:
    """W-UNUSED of each state of the file that no training stage sets: it stays as it begins. A
    layer of an installed module may keep what it drew once."""
    every = list(stages)
    moved = {path for s in every for path, state in s.traced.states.items() if state.set}
    still = {p: state for s in every for p, state in s.traced.states.items() if p not in moved}
    return [
        diagnostic(
            "W-UNUSED",
            f"nothing sets the state {path}: it stays as it begins",
            span=state.span,
            hint="(setf name form) gives it its next value; a constant is no state",
            kind="state",
            name=path,
        )
        for path, state in still.items()
        if not state.installed
    ]


def partial_passes(
    passes: Mapping[str, PassTrace], loaders: Mapping[str, Loader]
) -> Iterator[Diagnostic]:
    """W-EVAL-PARTIAL of each pass that leaves examples out, where no other pass sees them all."""
    declared = [trace.declared for trace in passes.values()]
    whole = {(p.loader, p.stage) for p in declared if p.batches is None}
    for p in declared:
        if p.batches is None or p.loader is None or p.stage is None or (p.loader, p.stage) in whole:
            continue
        loader = loaders[p.loader]
        batches, rest = loader.evaluation_rows(p.stage, p.batches)
        seen, there = batches * loader.rows(p.stage) + rest, loader.examples(p.stage)
        if there is not None and seen < there:
            yield diagnostic(
                "W-EVAL-PARTIAL",
                f"pass {p.name} sees {seen:,} of {there:,} examples, {seen / there:.0%}",
                span=option_span(p.span, "batches") or p.span,
                hint="leave :batches out, or add a pass over all at the end",
                name=p.name,
                seen=seen,
                examples=there,
            )


def beyond(passes: Mapping[str, PassTrace], loaders: Mapping[str, Loader]) -> Iterator[Diagnostic]:
    """W-OPTION-UNUSED of `:batches` that are more than a pass's data has."""
    for p in [trace.declared for trace in passes.values()]:
        if p.batches is None or p.loader is None or p.stage is None:
            continue
        batches, rest = loaders[p.loader].evaluation_rows(p.stage)
        there = batches + (rest > 0)
        if loaders[p.loader].examples(p.stage) is not None and p.batches > there:
            yield diagnostic(
                "W-OPTION-UNUSED",
                f"pass {p.name} asks for {p.batches:,} batches, and :{p.stage} has {there:,}",
                span=option_span(p.span, "batches") or p.span,
                hint="leave :batches out: a pass reads its stage once",
                option=":batches",
                there=there,
            )


def resting(stage: StageTrace, steps: int) -> Iterator[Diagnostic]:
    """W-SCHEDULE of each group whose first step comes after the run's last."""
    for group in stage.optimization.groups:
        if not group.frozen and group.offset >= steps:
            yield diagnostic(
                "W-SCHEDULE",
                f"the group {group.name} is due at step {group.offset:,} first, after the last of "
                f"{steps:,}: nothing of it is trained",
                span=option_span(group.span, "offset") or group.span,
                hint=":offset below the steps of the run; (group SELECTOR :frozen) trains nothing",
                steps=steps,
            )


def smoothed(passes: Mapping[str, PassTrace]) -> Iterator[Diagnostic]:
    """W-SMOOTHED-METRIC of each metric of a pass that a loss with smoothing reaches (R18)."""
    for name, trace in passes.items():
        traced = trace.whole or trace.rest
        if traced is None or not any(_smooth(n) for n in traced.graph.nodes):
            continue
        for metric in traced.metrics:
            if _reads(traced.graph, metric.name):
                yield diagnostic(
                    "W-SMOOTHED-METRIC",
                    f'pass {name} reports "{metric.name}", which is of smoothed labels',
                    span=metric.span,
                    hint="in evaluate: (metric ... (nn:cross-entropy x label)) without :smoothing",
                    name=metric.name,
                )


def _smooth(node: Node) -> bool:
    return bool(node.operation.endswith("cross-entropy") and node.get("smoothing", 0))


def _reads(graph: Graph, metric: str) -> bool:
    """Whether what is reported under a name is made of a smoothed loss."""
    stack = [v.node for n, v in graph.results.items() if n.startswith(f"metric:{metric}:")]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        if _smooth(node):
            return True
        seen.add(node.id)
        stack += [value.node for value in node.operands]
    return False


def decayed(stage: StageTrace) -> Iterator[Diagnostic]:
    """W-PARAM-RANK of each group whose written decay reaches norms or biases beside weights."""
    parameters = stage.traced.parameters
    for group in stage.optimization.groups:
        ranks = {path: parameters[path].type.rank for path in group.paths}
        small = [path for path, rank in ranks.items() if rank <= 1]
        if group.decays and small and len(small) < len(ranks):
            yield diagnostic(
                "W-PARAM-RANK",
                f"weight decay reaches {len(small)} vectors, {small[0]} among them",
                span=group.span,
                hint="before it: (group (select :rank (<= 1)) (... :weight-decay 0))",
                paths=small,
            )


TAIL = 0.5
"""A rate that is down for more than this share of a run was meant for a shorter one."""
LOW = 0.1
"""Down: below this share of the highest rate."""


def ill_timed(stage: StageTrace, steps: int) -> Iterator[Diagnostic]:
    """W-SCHEDULE of each group whose rate is 0, still rises at the end, or is down too early."""
    for group in stage.optimization.groups:
        if not group.frozen and isinstance(group.lr, tuple):
            told = _ill_timed(group, steps)
            if told is not None:
                yield diagnostic(
                    "W-SCHEDULE",
                    f"the rate of group {group.name} {told}",
                    span=group.span,
                    hint="lengths of a schedule as shares of (ctx :steps)",
                    steps=steps,
                )


def _ill_timed(group: Group, steps: int) -> str | None:
    if steps < 4:
        return None
    at = sorted({round(i * (steps - 1) / 64) for i in range(65)})
    found = [_rate(group.lr, step, steps) for step in at]
    rates = [value for value in found if value is not None]
    if len(rates) < len(found):
        return None  # of what is not known before the run
    most = max(rates)
    if not any(rates):
        return "is 0 at every step"
    if rates[-1] == most and rates[-1] > rates[-2]:
        return f"still rises at step {steps}, the last"
    low = [step for step, rate in zip(at, rates) if rate < LOW * most]
    first = next((s for s in low if all(r == rates[-1] for t, r in zip(at, rates) if t >= s)), None)
    if first is not None and steps - first > TAIL * steps and rates[-1] < LOW * most:
        return f"is down to {rates[-1]:g} from step {first} of {steps} on"
    return None


def _rate(tree: Any, step: int, steps: int) -> float | None:
    from ..staging.optimize import value_at

    return value_at(tree, step, steps)
