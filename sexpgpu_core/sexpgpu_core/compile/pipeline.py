"""An experiment to a job: every stage and every pass traced, differentiated, fused and planned.

traced -> step (backward, verdict, updates) -> optimized -> kernels and calls -> plan; and what the
loop needs to know beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..data.loader import Loader
from ..device import Device, Unit
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import Experiment
from ..ir import Graph, Operations
from ..ir.text import write
from ..plan.make import layout_persistent
from ..plan.plan import Persistent
from ..records import NamedTuple
from ..runtime.job import Job, MetricSpec, PassFacts, ProgramFacts, StageFacts
from ..staging.trace import unreached
from ..staging.traced import Metric, Traced
from ..step import build_step
from ..step.scaling import LOSS_SCALES
from .collector import collector_off
from .persistents import initials, persistent_types
from .phases import Phases
from .programs import (
    Target,
    Told,
    Watched,
    flops_of,
    make_unit,
    nobody,
    program_of,
    recognized,
    scalars_of,
)
from .stages import PassTrace, StageTrace
from .summary import memory, summarize
from .traces import Traces, trace_experiment

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
    told: Told
    judgements: Mapping[str, str]  # pass -> how it judges


@collector_off()
def compile_experiment(
    experiment: Experiment,
    evaluator: Evaluator,
    *,
    operations: Operations,
    device: Device,
    loaders: Mapping[str, Loader],
    watch: Watched | None = None,
) -> Compiled:
    """Everything a run needs, decided. Raises Problem or Problems; opens no device."""
    phases = Phases()
    traces = trace_experiment(experiment, evaluator, operations, loaders, phases)
    return compile_traces(traces, operations, device, phases, nobody(watch))


def compile_traces(
    traces: Traces, operations: Operations, device: Device, phases: Phases, told: Told
) -> Compiled:
    """What follows on tracing: backward, updates, passes, fusion, plans."""
    target = Target(device, operations, traces.experiment.run.precision, phases, told)
    persistent = layout_persistent(persistent_types(traces.stages.values()))
    graphs = _step_graphs(traces.experiment, traces.stages, operations, phases, told)
    with phases.phase("patterns"):
        for name, graph in traces.pass_graphs().items():
            graphs[name] = recognized(name, graph, operations, told)
    precisions = _precisions(traces)
    units = {
        n: make_unit(n, g, persistent, target._replace(precision=precisions[n]))
        for n, g in graphs.items()
    }
    with phases.phase("trace"):
        judgements = traces.judgements()
    job = _job(traces, units, persistent, operations, judgements)
    return Compiled(job, phases, traces.stages, traces.passes, graphs, told, judgements)


def _precisions(traces: Traces) -> dict[str, str]:
    """By program: its stage's."""
    found = {program_of(k, traces.stages): s.precision for k, s in traces.stages.items()}
    for name, trace in traces.passes.items():
        found.update(dict.fromkeys((f"eval/{name}", f"eval/{name}/rest"), trace.precision))
    return found


def _step_graphs(
    experiment: Experiment,
    stages: Mapping[str, StageTrace],
    operations: Operations,
    phases: Phases,
    told: Told,
) -> dict[str, Graph]:
    """The step of every training stage, by program."""
    graphs = {}
    for key, stage in stages.items():
        program = program_of(key, stages)
        with phases.phase("patterns"):
            found = recognized(program, stage.traced.graph, operations, told)
        with phases.phase("step"):
            graph = build_step(
                stage.traced._replace(graph=found),
                stage.optimization,
                operations,
                microbatches=stage.microbatches,
                guard=experiment.run.finite_guard != "off",
                scaled=stage.precision == "f16",
                unreached=unreached(stage.traced),
            )
        phases.count("step nodes", len(graph.nodes))
        graphs[program] = graph
    return graphs


def _job(
    traces: Traces,
    units: Mapping[str, Unit],
    persistent: Persistent,
    operations: Operations,
    judgements: Mapping[str, str],
) -> Job:
    facts = {
        k: _stage_facts(k, s, program_of(k, traces.stages), units, operations)
        for k, s in traces.stages.items()
    }
    flops = max(f.flops for f in facts.values())
    return Job(
        experiment=traces.experiment,
        stages=facts,
        passes={n: _pass_facts(n, t, units) for n, t in traces.passes.items()},
        units=tuple(units.values()),
        persistent=persistent,
        initial=initials(traces.stages.values(), traces.experiment.run.seed),
        ir_hash=traces.ir,
        experiment_id=traces.identity,
        evaluation_ids=traces.evaluations(judgements),
        steps=traces.steps,
        graphs=_Texts({unit.name: unit.graph for unit in units.values()}),
        summary=summarize(
            traces,
            memory=memory(units.values(), persistent),
            persistent=persistent.bytes,
            flops=flops,
            judgements=judgements,
        ),
        curriculum=traces.ask,
    )


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
    key: str,
    stage: StageTrace,
    program: str,
    units: Mapping[str, Unit],
    operations: Operations,
) -> StageFacts:
    loader, _, name = key.partition(":")
    graph = units[program].graph
    trees = {**stage.traced.scalars, **stage.optimization.scalars, **LOSS_SCALES}
    for update in stage.optimization.updates.values():
        trees.update(update.scalars)
    fields = {n: _rows(t, stage.microbatches) for n, t in stage.traced.fields.items()}
    facts = ProgramFacts(
        program, fields, scalars_of(graph, trees), metric_specs(stage.traced.metrics), stage.rows
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
        return ProgramFacts(program, traced.fields, scalars, metric_specs(traced.metrics), rows)

    return PassFacts(
        name,
        trace.loader,
        trace.stage,
        facts(f"eval/{name}", trace.whole, trace.rows),
        facts(f"eval/{name}/rest", trace.rest, trace.rest_rows),
        trace.declared.batches,
    )


def metric_specs(metrics: Sequence[Metric]) -> tuple[MetricSpec, ...]:
    return tuple(MetricSpec(m.name, m.kind, m.unit, _finish(m)) for m in metrics)


def _finish(metric: Metric) -> Callable[[float], float] | None:
    if not metric.finish:
        return None
    functions = [FINISH[name] for name in metric.finish]

    def finish(value: float) -> float:
        for function in functions:
            value = function(value)
        return value

    return finish
