"""An experiment traced: every stage and pass as graphs, and the ids that follow from them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..data.loader import Loader
from ..diagnostics import Diagnostic, Problem, Problems
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import Experiment, LoaderDeclaration
from ..ir import Graph, Operations
from ..records import NamedTuple
from ..staging.cadence import never_due, never_run, tested_often, unselected
from ..staging.curriculum import source_text
from ..staging.declare import check_series
from ..staging.forms.file_tensors import leaking
from . import lints
from .identity import evaluation_id, experiment_id, ir_hash
from .phases import Phases
from .stages import PassTrace, StageTrace, Tracing

if TYPE_CHECKING:
    from ..ir.types import Type
    from ..runtime.curriculum import Ask
    from .ahead import Ahead
    from .loads import Loads

MANY_BORDERS = 10_000


class Traces(NamedTuple):
    """Programs as traced, and what the experiment is: see compile.identity."""

    experiment: Experiment
    stages: Mapping[str, StageTrace]  # "LOADER:STAGE"
    passes: Mapping[str, PassTrace]
    steps: int
    ir: str  # hash of the training IR
    identity: str
    tracing: Tracing
    ask: Ask | None = None  # the curriculum, and how it was run ahead
    ahead: Ahead | None = None
    loads: Loads | None = None

    def pass_graphs(self) -> dict[str, Graph]:
        """Graphs of passes by program: eval/PASS, eval/PASS/rest for the last short batch, and
        eval/PASS/end of what is computed once."""
        every = [program for trace in self.passes.values() for program in trace.programs()]
        return {name: traced.graph for name, traced, _ in every}

    def judgements(self) -> dict[str, str]:
        """How each pass judges (compile.sealing). It is traced once more: not for every check."""
        return {name: self.tracing.judgement(t, self.steps) for name, t in self.passes.items()}

    def evaluations(self, judgements: Mapping[str, str]) -> dict[str, str]:
        """The ids that runs are ranked by: of how passes judge, and what and when they read."""
        return {
            name: evaluation_id(judgements[name], t.declared, *self.tracing.evaluated(t))
            for name, t in self.passes.items()
        }


def trace_experiment(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    loaders: Mapping[str, Loader],
    phases: Phases,
) -> Traces:
    """Every stage that trains and every pass. Warnings go to the evaluator; raises Problem or
    Problems with the mistakes of all programs."""
    tracing = Tracing(experiment, evaluator, operations, loaders)
    _check_loaders(evaluator, tracing)
    steps, ahead = tracing.steps(), tracing.ahead
    stages, passes = _traced(tracing, steps, phases)
    if len(stages) > 1:
        from .persistents import check_groups

        check_groups(stages)
    for leak in leaking(evaluator.host.collector.statistics, tracing.training_stages()):
        evaluator.warn(leak)
    _check_passes(experiment, evaluator, stages, passes, steps, loaders)
    data = {key: loaders[key.split(":")[0]].fingerprint(key.split(":")[1]) for key in stages}
    pairs = {key: (s.traced, s.optimization) for key, s in stages.items()}
    ir = ir_hash(experiment, pairs, operations, _course(experiment, ahead))
    loads = _loads(experiment, evaluator, stages)
    identity = experiment_id(ir, experiment, data, steps, loads.digests if loads else ())
    return Traces(
        experiment, stages, passes, steps, ir, identity, tracing, tracing.ask, ahead, loads
    )


def _loads(
    experiment: Experiment, evaluator: Evaluator, stages: Mapping[str, StageTrace]
) -> Loads | None:
    """What `load-params` gives to the parameters and states of all stages."""
    if not experiment.loads:
        return None
    from .loads import plan_loads

    types: dict[str, Type] = {}
    for stage in stages.values():
        types.update({f"parameter:{p}": v.type for p, v in stage.traced.parameters.items()})
        types.update({f"state:{p}": v.type for p, v in stage.traced.states.items()})
    return plan_loads(experiment.loads, types, evaluator.host.collector.base)


def _course(experiment: Experiment, ahead: Ahead | None) -> tuple[Any, ...]:
    """What decides which stage a step is of: borders, or the text that reads metrics."""
    if ahead is None:
        return ()
    if not ahead.reads and len(ahead.borders) < MANY_BORDERS:
        return ahead.borders
    return (source_text(experiment), *sorted((k.name, k.text) for k in experiment.knobs.values()))


def _check_loaders(evaluator: Evaluator, tracing: Tracing) -> None:
    training = tracing.training_stages()
    for name, loader in tracing.loaders.items():
        for found in loader.check([stage for of, stage in training if of == name]):
            evaluator.warn(found)


def _check_passes(
    experiment: Experiment,
    evaluator: Evaluator,
    stages: Mapping[str, StageTrace],
    passes: Mapping[str, PassTrace],
    steps: int,
    loaders: Mapping[str, Loader],
) -> None:
    """E-SERIES where no pass or training stage reports such a metric; W-EVAL-NEVER."""
    reported: dict[str, list[str]] = {}
    traced = [(name.partition(":")[2], s.traced) for name, s in stages.items()]
    every = [(name, t) for name, p in passes.items() for _, t, _ in p.programs()]
    for name, t in [*traced, *every]:
        reported.setdefault(name, []).extend(m.name for m in t.metrics)
    check_series(experiment, reported)
    if any(_pads(loader.declaration) for loader in loaders.values()):
        from .pads import check_pads

        check_pads(stages, passes, loaders)
    for found in _lints(experiment, stages, passes, loaders, steps):
        evaluator.warn(found)
    for found in lints.unset(stages.values()):
        evaluator.warn(found)
    for found in tested_often(experiment):
        evaluator.warn(found)
    if not experiment.selection.get("steps"):
        for found in never_run(experiment, steps):
            evaluator.warn(found)


def _pads(declared: LoaderDeclaration) -> bool:
    """Whether windows are filled with another token than 0."""
    cuts = [declared.windows, *(stage.windows for stage in declared.stages.values())]
    return any(cut is not None and cut.pad for cut in cuts)


def _lints(
    experiment: Experiment,
    stages: Mapping[str, StageTrace],
    passes: Mapping[str, PassTrace],
    loaders: Mapping[str, Loader],
    steps: int,
) -> Iterator[Diagnostic]:
    yield from lints.partial_passes(passes, loaders)
    yield from lints.smoothed(passes)
    first = next(iter(stages.values()))
    yield from lints.decayed(first)
    chosen = any(value and key != "seed" for key, value in experiment.selection.items())
    yield from unselected(experiment)
    if not chosen:
        yield from lints.beyond(passes, loaders)
    if experiment.run.steps is not None and not chosen:
        # what is chosen to be short, or is by its data, has the lengths of the whole
        yield from never_due(experiment, steps)
        yield from lints.resting(first, steps)
        if len(stages) == 1:
            yield from lints.ill_timed(first, steps)


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
        for name, declared in tracing.experiment.passes.items():
            _collect(wrong, passes, name, partial(tracing.evaluation, declared, stages, steps))
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
