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
from ..passes.calls import library_calls
from ..plan.make import layout_persistent
from ..plan.plan import Persistent
from ..records import NamedTuple
from ..runtime.job import Job, MetricSpec, Observed, PassFacts, ProgramFacts, StageFacts
from ..runtime.sampling import Resampled
from ..staging.optimize import cadences, cycle
from ..staging.trace import unreached
from ..staging.traced import Metric, Traced, TracedOutput
from ..step import build_step
from ..step.scaling import LOSS_SCALES
from .observers import Sampled, observe, sampling_of
from .persistents import files_named, files_of, initials, persistent_types
from .phases import Phases, collector_off
from .probes import Row
from .programs import Target, Told, Watched, flops_of, make_unit, nobody, recognized, scalars_of
from .stages import PassTrace, StageTrace, Tracing, observer_of, program_of, steps_of
from .summary import fixed, memory, sampling, summarize
from .traces import Traces, trace_experiment


def _ieee(function: Callable[[float], float], pole: float | None = None) -> Any:
    """With what IEEE 754 says where Python raises: -inf at a pole, inf past the greatest, NaN."""

    def value(x: float) -> float:
        if x == pole:
            return -math.inf
        try:
            return function(x)
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return value


FINISH: dict[str, Callable[[float], float]] = {
    "exp": _ieee(math.exp),
    "exp2": _ieee(lambda x: 2.0**x),
    "log": _ieee(math.log, 0.0),
    "log2": _ieee(math.log2, 0.0),
    "log1p": _ieee(math.log1p, -1.0),
    "expm1": _ieee(math.expm1),
    "sqrt": _ieee(math.sqrt),
    "negate": lambda x: -x,
    "abs": abs,
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x if x else math.copysign(math.inf, x),
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
    traces: Traces


@collector_off()
def compile_experiment(
    experiment: Experiment,
    evaluator: Evaluator,
    *,
    operations: Operations,
    device: Device,
    loaders: Mapping[str, Loader],
    watch: Watched | None = None,
    rows: Callable[[], Sequence[Row]] = tuple,
) -> Compiled:
    """Everything a run needs, decided. Raises Problem or Problems; opens no device. `rows`: the
    kinds of diagnostic numbers, asked for where some are selected."""
    phases = Phases()
    traces = trace_experiment(experiment, evaluator, operations, loaders, phases)
    with phases.phase("observers"):
        sampled = observe(experiment, evaluator, operations, traces.stages, rows)
    return compile_traces(traces, operations, device, phases, nobody(watch), sampled)


def compile_traces(
    traces: Traces,
    operations: Operations,
    device: Device,
    phases: Phases,
    told: Told,
    sampled: Mapping[str, Sampled],
) -> Compiled:
    """What follows on tracing: backward, updates, passes, fusion, plans. A step's program knows
    nothing of what is sampled beside it (45.9)."""
    target = Target(device, operations, traces.experiment.run.precision, phases, told)
    files = files_of(traces)
    types = persistent_types(traces.stages.values(), traces.passes.values(), files)
    persistent = layout_persistent(types)
    graphs = _step_graphs(traces.experiment, traces.stages, target)
    precisions = _precisions(traces)
    with phases.phase("patterns"):
        for name, graph in traces.pass_graphs().items():
            seen = recognized(name, graph, operations, told)
            graphs[name] = library_calls(seen, operations, device.library, precisions[name])
    for key, found in sampled.items():
        if found.graph is not None:
            graphs[observer_of(key, traces.stages)] = found.graph
    units = {
        n: make_unit(n, g, persistent, target._replace(precision=precisions[n]))
        for n, g in graphs.items()
    }
    with phases.phase("trace"):
        judgements = traces.judgements()
    job = _job(traces, units, persistent, operations, judgements, sampled)
    return Compiled(job, phases, traces.stages, traces.passes, graphs, told, judgements, traces)


def compile_observers(
    compiled: Compiled,
    globs: Sequence[str],
    evaluator: Evaluator,
    operations: Operations,
    device: Device,
    rows: Callable[[], Sequence[Row]],
) -> dict[str, Resampled]:
    """The observers of another selection, beside programs that are compiled already. Raises
    E-SERIES for a glob that matches nothing."""
    job = compiled.job
    experiment = sampling_of(job.experiment, globs)
    sampled = observe(experiment, evaluator, operations, compiled.stages, rows)
    target = Target(device, operations, experiment.run.precision, Phases())
    found = {}
    for key, stage in compiled.stages.items():
        of, unit = sampled.get(key), None
        if of is not None and of.graph is not None:
            unit = make_unit(
                observer_of(key, compiled.stages),
                of.graph,
                job.persistent,
                target._replace(precision=stage.precision),
            )
        observed = None if of is None else _observed(job.stages[key].step, of, unit, _trees(stage))
        found[key] = Resampled(unit, observed)
    return found


def _precisions(traces: Traces) -> dict[str, str]:
    """By program: its stage's."""
    found = {}
    for key, stage in traces.stages.items():
        names = [*steps_of(key, stage, traces.stages), observer_of(key, traces.stages)]
        found.update(dict.fromkeys(names, stage.precision))
    for trace in traces.passes.values():
        found.update({n: trace.precision for n, _, _ in trace.programs()})
    return found


def _step_graphs(
    experiment: Experiment, stages: Mapping[str, StageTrace], target: Target
) -> dict[str, Graph]:
    """The step of every training stage, by program."""
    graphs = {}
    operations, phases, told = target.operations, target.phases, target.told or nobody()
    library = target.device.library
    for key, stage in stages.items():
        program = program_of(key, stages)
        with phases.phase("patterns"):
            found = recognized(program, stage.traced.graph, operations, told)
            found = library_calls(found, operations, library, stage.precision)
        for name, groups in steps_of(key, stage, stages).items():
            with phases.phase("step"):
                graph = build_step(
                    stage.traced._replace(graph=found),
                    stage.optimization,
                    operations,
                    microbatches=stage.microbatches,
                    guard=experiment.run.finite_guard != "off",
                    scaled=stage.precision == "f16",
                    unreached=unreached(stage.traced),
                    groups=groups,
                )
            phases.count("step nodes", len(graph.nodes))
            graphs[name] = graph
    return graphs


def _job(
    traces: Traces,
    units: Mapping[str, Unit],
    persistent: Persistent,
    operations: Operations,
    judgements: Mapping[str, str],
    sampled: Mapping[str, Sampled],
) -> Job:
    facts = {
        k: _stage_facts(k, s, traces.stages, units, operations, sampled.get(k))
        for k, s in traces.stages.items()
    }
    flops = max(f.flops for f in facts.values())
    observers = [s.graph for s in sampled.values() if s.graph is not None]
    work = max((flops_of(graph, operations) for graph in observers), default=0)
    numbers = sum(len(s.probes) for s in sampled.values())
    said = sampling(traces.experiment, numbers, work, flops)
    return Job(
        experiment=traces.experiment,
        stages=facts,
        passes={n: _pass_facts(n, t, units, traces.tracing) for n, t in traces.passes.items()},
        units=tuple(units.values()),
        persistent=persistent,
        initial=initials(
            traces.stages.values(),
            persistent.types,
            traces.experiment.run.seed,
            traces.loads,
            files_of(traces),
        ),
        weights=traces.loads.files if traces.loads else (),
        ir_hash=traces.ir,
        experiment_id=traces.identity,
        evaluation_ids=traces.evaluations(judgements),
        steps=traces.steps,
        graphs=_Texts({unit.name: unit.graph for unit in units.values()}),
        summary=summarize(
            traces,
            memory=memory(units.values(), persistent),
            persistent=persistent.saved_bytes,
            flops=flops,
            judgements=judgements,
            sampled=said,
        ),
        curriculum=traces.ask,
        fixed=fixed(traces),
        files=tuple([dict(f.facts) for f in files_named(traces).values()]),
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
    stages: Mapping[str, StageTrace],
    units: Mapping[str, Unit],
    operations: Operations,
    sampled: Sampled | None,
) -> StageFacts:
    loader, _, name = key.partition(":")
    trees = _trees(stage)
    fields = {n: _rows(t, stage.microbatches) for n, t in stage.traced.fields.items()}
    metrics = metric_specs(stage.traced.metrics)
    programs, flops = {}, 0
    for program, groups in steps_of(key, stage, stages).items():
        graph = units[program].graph
        scalars = scalars_of(graph, trees)
        programs[groups] = ProgramFacts(program, fields, scalars, metrics, stage.rows)
        flops = max(flops, flops_of(graph, operations))
    facts, *others = programs.values()
    observed = None
    if sampled is not None:
        observed = _observed(facts, sampled, units.get(observer_of(key, stages)), trees)
    course = tuple(programs[due] for due in cycle(stage.optimization)) if others else ()
    return StageFacts(
        loader,
        name,
        facts,
        stage.microbatches,
        stage.counters,
        flops,
        observed,
        course,
        cadences(stage.optimization),
    )


def _trees(stage: StageTrace) -> dict[str, Any]:
    """Step scalars that programs of a stage may read, by canonical text."""
    trees = {**stage.traced.scalars, **stage.optimization.scalars, **LOSS_SCALES}
    for update in stage.optimization.updates.values():
        trees.update(update.scalars)
    return trees


def _observed(
    step: ProgramFacts, sampled: Sampled, unit: Unit | None, trees: Mapping[str, Any]
) -> Observed:
    """The observer reads the step's batch, and its scalars or those of the file's own numbers."""
    if unit is None:
        return Observed(None, sampled.probes)
    scalars = scalars_of(unit.graph, {**trees, **sampled.scalars})
    return Observed(step._replace(program=unit.name, scalars=scalars), sampled.probes)


def _rows(type: Any, blocks: int) -> Any:
    """The type of a whole batch, of which the program takes blocks."""
    if blocks == 1:
        return type
    return type._replace(shape=(type.shape[0] * blocks, *type.shape[1:]))


def _pass_facts(
    name: str, trace: PassTrace, units: Mapping[str, Unit], tracing: Tracing
) -> PassFacts:
    def facts(program: str, traced: Traced | TracedOutput, rows: int) -> ProgramFacts:
        scalars = scalars_of(units[program].graph, traced.scalars)
        return ProgramFacts(program, traced.fields, scalars, metric_specs(traced.metrics), rows)

    found = {n: facts(n, traced, rows) for n, traced, rows in trace.programs()}
    parts = [found.get(f"eval/{name}{part}") for part in ("", "/rest", "/end")]
    whole, rest, end = parts
    of, output, loader = trace.whole or trace.rest, None, trace.declared.loader
    if isinstance(of, TracedOutput):
        from .output_passes import facts_of

        output = facts_of(tracing, trace.declared, of)
    batches = trace.declared.batches
    return PassFacts(name, loader, trace.stage, whole, rest, batches, end, output)


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
