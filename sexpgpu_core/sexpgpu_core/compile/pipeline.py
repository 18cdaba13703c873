"""An experiment to a job: every stage and every pass traced, differentiated, fused and planned.

traced -> step (backward, verdict, updates) -> optimized -> kernels and calls -> plan; and what the
loop needs to know beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ..data.loader import Loader
from ..device import Device, Unit
from ..diagnostics import Diagnostic, Problem, Problems
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import Experiment
from ..ir import Graph, Operations
from ..ir.hash import graph_hash
from ..ir.text import write
from ..plan.make import layout_persistent
from ..plan.plan import Persistent
from ..records import NamedTuple
from ..runtime.job import Job, MetricSpec, PassFacts, ProgramFacts, StageFacts
from ..staging.cadence import never_run
from ..staging.declare import check_series
from ..staging.trace import unreached
from ..staging.traced import Metric, Traced
from ..step import build_step
from .collector import collector_off
from .identity import evaluation_id, experiment_id, training_hash
from .persistents import initials, persistent_types
from .phases import Phases
from .programs import Target, flops_of, make_unit, scalars_of
from .stages import PassTrace, StageTrace, Tracing
from .summary import summarize

FINISH: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "log": math.log,
    "log2": math.log2,
    "log1p": math.log1p,
    "expm1": math.expm1,
    "sqrt": math.sqrt,
    "negate": lambda x: -x,
    "abs": abs,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x,
}


class Compiled(NamedTuple):
    """A job, how long its phases took, and the graphs of each program after each phase."""

    job: Job
    phases: Phases
    stages: Mapping[str, StageTrace]
    passes: Mapping[str, PassTrace]
    steps: Mapping[str, Graph]  # program -> graph before the passes


@collector_off()
def compile_experiment(
    experiment: Experiment,
    evaluator: Evaluator,
    *,
    operations: Operations,
    device: Device,
    loaders: Mapping[str, Loader],
) -> Compiled:
    """Everything a run needs, decided. Raises Problem or Problems; opens no device."""
    phases = Phases()
    target = Target(device, operations, experiment.run.precision, phases)
    tracing = Tracing(experiment, evaluator, operations, loaders)
    _check_loaders(evaluator, tracing)
    steps = tracing.steps()
    stages, passes = _traced(tracing, steps, phases)
    _check_passes(experiment, evaluator, passes, steps)
    persistent = layout_persistent(persistent_types(stages.values()))
    graphs = _step_graphs(experiment, stages, operations, phases)
    for name, trace in passes.items():
        for kind, traced in (("", trace.whole), ("/rest", trace.rest)):
            if traced is not None:
                graphs[f"eval/{name}{kind}"] = traced.graph
    units = {n: make_unit(n, g, persistent, target) for n, g in graphs.items()}
    job = _job(experiment, stages, passes, units, persistent, loaders, operations, steps)
    return Compiled(job, phases, stages, passes, graphs)


def _check_loaders(evaluator: Evaluator, tracing: Tracing) -> None:
    training = tracing.training_stages()
    for name, loader in tracing.loaders.items():
        for found in loader.check([stage for of, stage in training if of == name]):
            evaluator.warn(found)


def _check_passes(
    experiment: Experiment, evaluator: Evaluator, passes: Mapping[str, PassTrace], steps: int
) -> None:
    """E-SERIES where a pass reports no such metric; W-EVAL-NEVER."""
    whole = {name: p.whole or p.rest for name, p in passes.items()}
    check_series(experiment, {n: [m.name for m in t.metrics] for n, t in whole.items() if t})
    if not experiment.selection.get("steps"):
        for found in never_run(experiment, steps):
            evaluator.warn(found)


def _traced(
    tracing: Tracing, steps: int, phases: Phases
) -> tuple[dict[str, StageTrace], dict[str, PassTrace]]:
    """All programs; mistakes of unlike programs are told together, each once."""
    stages: dict[str, StageTrace] = {}
    passes: dict[str, PassTrace] = {}
    wrong: list[Diagnostic] = []
    with phases.phase("trace"):
        for loader, stage in tracing.training_stages():
            make = partial(tracing.stage, loader, stage, steps)
            _collect(wrong, stages, f"{loader}:{stage}", make)
        known = {p: v for s in stages.values() for p, v in s.traced.parameters.items()}
        for name, declared in tracing.experiment.passes.items():
            _collect(wrong, passes, name, partial(tracing.evaluation, declared, known, steps))
    if wrong:
        untrained = len(stages) < len(tracing.training_stages())
        raise Problems([d for d in wrong if not (untrained and d.code == "E-PARAM-PASS")])
    for trace in stages.values():
        phases.count("traced nodes", len(trace.traced.graph.nodes))
    return stages, passes


def _collect(
    wrong: list[Diagnostic], into: dict[str, Any], name: str, make: Callable[[], Any]
) -> None:
    try:
        found = make()
    except Problem as error:
        found, new = None, [error.diagnostic]
    except Problems as error:
        found, new = None, error.diagnostics
    else:
        new = []
    said = {_place(d) for d in wrong}
    wrong += [d for d in new if _place(d) not in said]
    if found is not None:
        into[name] = found


def _place(d: Diagnostic) -> tuple[object, ...]:
    """What two mistakes that are one have in common: sizes in their messages may differ."""
    return (d.code, d.span) if d.span is not None else (d.code, d.message)


def _step_graphs(
    experiment: Experiment,
    stages: Mapping[str, StageTrace],
    operations: Operations,
    phases: Phases,
) -> dict[str, Graph]:
    """The step of every training stage, by program."""
    graphs = {}
    for key, stage in stages.items():
        with phases.phase("step"):
            graph = build_step(
                stage.traced,
                stage.optimization,
                operations,
                microbatches=stage.microbatches,
                guard=experiment.run.finite_guard != "off",
                unreached=unreached(stage.traced),
            )
        phases.count("step nodes", len(graph.nodes))
        graphs[f"step/{key.partition(':')[2]}"] = graph
    return graphs


def _job(
    experiment: Experiment,
    stages: Mapping[str, StageTrace],
    passes: Mapping[str, PassTrace],
    units: Mapping[str, Unit],
    persistent: Persistent,
    loaders: Mapping[str, Loader],
    operations: Operations,
    steps: int,
) -> Job:
    data = {key: loaders[key.split(":")[0]].fingerprint(key.split(":")[1]) for key in stages}
    pairs = {key: (s.traced, s.optimization) for key, s in stages.items()}
    training = training_hash(experiment, pairs, data, operations, steps)
    stage_facts = {k: _stage_facts(k, s, units, operations) for k, s in stages.items()}
    identity = experiment_id(training, experiment)
    evaluations = {n: _evaluation_id(experiment, t, loaders, operations) for n, t in passes.items()}
    return Job(
        experiment=experiment,
        stages=stage_facts,
        passes={n: _pass_facts(n, t, units) for n, t in passes.items()},
        units=tuple(units.values()),
        persistent=persistent,
        initial=initials(stages.values(), experiment.run.seed),
        training_hash=training,
        experiment_id=identity,
        evaluation_ids=evaluations,
        steps=steps,
        graphs=_Texts({unit.name: unit.graph for unit in units.values()}),
        summary=summarize(
            experiment, stages, units, persistent, identity, training, evaluations, steps,
            sum(f.flops for f in stage_facts.values()),
        ),
    )  # fmt: skip


class _Texts(Mapping[str, str]):
    """Graphs as texts, written when they are read: a check reads none."""

    def __init__(self, graphs: Mapping[str, Graph]) -> None:
        self._graphs = graphs

    def __getitem__(self, name: str) -> str:
        return write(self._graphs[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)


def _stage_facts(
    key: str, stage: StageTrace, units: Mapping[str, Unit], operations: Operations
) -> StageFacts:
    loader, _, name = key.partition(":")
    program = f"step/{name}"
    graph = units[program].graph
    trees = {**stage.traced.scalars, **stage.optimization.scalars}
    for update in stage.optimization.updates.values():
        trees.update(update.scalars)
    fields = {n: _rows(t, stage.microbatches) for n, t in stage.traced.fields.items()}
    facts = ProgramFacts(
        program, fields, scalars_of(graph, trees), _metrics(stage.traced), stage.rows
    )
    flops = flops_of(graph, operations)
    return StageFacts(loader, name, facts, stage.microbatches, stage.counters, flops)


def _rows(type: Any, blocks: int) -> Any:
    """The type of a whole batch, of which the program takes blocks."""
    if blocks == 1:
        return type
    return type._replace(shape=(type.shape[0] * blocks, *type.shape[1:]))


def _pass_facts(name: str, trace: PassTrace, units: Mapping[str, Unit]) -> PassFacts:
    def facts(program: str, traced: Traced | None, rows: int) -> ProgramFacts | None:
        if traced is None:
            return None
        scalars = scalars_of(units[program].graph, traced.scalars)
        return ProgramFacts(program, traced.fields, scalars, _metrics(traced), rows)

    return PassFacts(
        name,
        trace.loader,
        trace.stage,
        facts(f"eval/{name}", trace.whole, trace.rows),
        facts(f"eval/{name}/rest", trace.rest, trace.rest_rows),
        trace.declared.batches,
    )


def _metrics(traced: Traced) -> tuple[MetricSpec, ...]:
    return tuple(MetricSpec(m.name, m.kind, m.unit, _finish(m)) for m in traced.metrics)


def _finish(metric: Metric) -> Callable[[float], float] | None:
    if not metric.finish:
        return None
    functions = [FINISH[name] for name in metric.finish]

    def finish(value: float) -> float:
        for function in functions:
            value = function(value)
        return value

    return finish


def _evaluation_id(
    experiment: Experiment,
    trace: PassTrace,
    loaders: Mapping[str, Loader],
    operations: Operations,
) -> str:
    traced = trace.whole or trace.rest
    assert traced is not None
    declared = experiment.loaders[trace.loader].stages[trace.stage]
    windows = declared.windows or experiment.loaders[trace.loader].windows
    reading = (declared.split, declared.order, tuple(windows) if windows else None)
    data = loaders[trace.loader].fingerprint(trace.stage)
    return evaluation_id(graph_hash(traced.graph, operations), trace.declared, data, reading)
