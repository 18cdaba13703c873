"""Contract functions to traced graphs: a stage's training program, a pass, the optimizer.

`prepare` gets the raw fields, `objective` or `evaluate` what it returns; both are one trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..diagnostics import Diagnostic, Problems, diagnostic, nearest, problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import NIL, Function, first_value
from ..experiment.declarations import Experiment, StageDeclaration
from ..ir.operation import Operations
from ..ir.types import Type
from .context import Context
from .curriculum import Curriculum
from .faults import describe
from .optimize import trace_groups
from .program import Program
from .traced import Optimization, Parameter, Traced, TracedOutput


def trace_stage(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    loader: str,
    stage: str,
    fields: Mapping[str, Type],
    rows: int | None,
    *,
    steps: int | None = None,
    microbatches: int = 1,
    world: int = 1,
    kept: Mapping[str, str] = {},
) -> Traced:
    """The training program of a stage. `fields`: types with the rows of a block in front; `kept`:
    dtypes of parameters that are kept in another than they are declared in (R34).

    Raises Problem or Problems."""
    facts = _facts(experiment, evaluator, loader, stage, rows, steps, microbatches, world)
    declared = {"stage-steps": _stage(experiment, loader, stage).steps}
    values = {**facts, "mode": ":train", "pass": None, **declared}
    context = _context("O", values, experiment)
    tracing = Program(experiment, evaluator, operations, context, loader, stage, fields, rows)
    tracing.t.kept = kept
    return tracing.run(experiment.objective, "objective", blocks=microbatches * world)


def trace_pass(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    name: str,
    loader: str,
    stage: str,
    fields: Mapping[str, Type],
    rows: int | None,
    *,
    steps: int | None = None,
    known: Mapping[str, Parameter] | None = None,
    averaged: frozenset[str] | None = None,
    whole_rows: int | None = None,
    examples: int | None = None,
) -> Traced:
    """The program of a pass for batches of `rows`: evaluate, or the objective without one.

    `known`: the parameters of all training stages; one that is not there is E-PARAM-PASS.
    `averaged`: names that an average is kept of, for a pass of `:weights :ema`. `whole_rows`: of
    a whole batch, where this is the short last one. `examples`: of the whole pass.
    """
    facts = _facts(experiment, evaluator, loader, stage, rows, steps, 1, 1)
    context = _context("E", {**facts, "mode": ":eval", "pass": name}, experiment)
    tracing = Program(experiment, evaluator, operations, context, loader, stage, fields, rows)
    tracing.t.averaged, tracing.t.whole_rows = averaged, whole_rows
    tracing.t.kept = _dtypes(known)
    tracing.t.examples = examples
    if name in experiment.passes and experiment.passes[name].weights == "ema":
        tracing.t.weights = "ema"
    if experiment.evaluate is not None:
        traced = tracing.run(experiment.evaluate, "evaluate")
    else:
        traced = tracing.run(experiment.objective, "objective")
    _check_pass_parameters(traced.parameters, known, f"pass {name}")
    return traced


def trace_output(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    name: str,
    loader: str,
    stage: str,
    fields: Mapping[str, Type],
    rows: int | None,
    *,
    known: Mapping[str, Parameter] | None = None,
    of_pass: str | None = None,
    weights: str = "live",
    averaged: frozenset[str] | None = None,
    whole_rows: int | None = None,
) -> TracedOutput:
    """The program of an output for `rows` rows of a loader's `fields`.

    It is of no stage and no step: its random numbers are keyed by its name and the seed.
    `of_pass`: that computes it while training, with its `weights`, what has an average, and the
    rows of a whole batch."""
    from .output import OutputProgram

    facts = _facts(experiment, evaluator, loader, stage, rows, None, 1, 1)
    facts |= {"mode": ":eval", "pass": of_pass, "stage": None, "output": name}
    context = _context("U", facts, experiment)
    output = experiment.outputs[name]
    tracing = OutputProgram(
        experiment, evaluator, operations, context, loader, stage, fields, rows, output
    )
    tracing.t.weights, tracing.t.averaged = weights, averaged
    tracing.t.whole_rows = whole_rows
    tracing.t.kept = _dtypes(known)
    traced = tracing.trace()
    _check_pass_parameters(traced.parameters, known, f"output {name}")
    return traced


def _dtypes(known: Mapping[str, Parameter] | None) -> dict[str, str]:
    """In which dtype each parameter is kept."""
    return {path: p.type.dtype for path, p in (known or {}).items()}


def trace_optimizer(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    traced: Traced,
    *,
    steps: int | None = None,
    microbatches: int = 1,
    world: int = 1,
) -> Optimization:
    """What `optimizer` says for a traced stage: groups, options, an update a parameter."""
    context = optimizer_context(experiment, evaluator, traced, steps, microbatches, world)

    def work() -> Any:
        return trace_groups(
            evaluator, operations, experiment.optimizer, context, traced.parameters, traced.stage,
            traced.losses,
        )  # fmt: skip

    found: Optimization = evaluator.call(Function("optimizer", work))
    return found


def optimizer_context(
    experiment: Experiment,
    evaluator: Evaluator,
    traced: Traced,
    steps: int | None = None,
    microbatches: int = 1,
    world: int = 1,
) -> Context:
    """What `ctx` says to `optimizer` and to what is computed of parameters."""
    facts = _facts(
        experiment, evaluator, traced.loader, traced.stage, traced.rows, steps, microbatches, world
    )
    declared = _stage(experiment, traced.loader, traced.stage).steps
    values = {**facts, "mode": ":train", "stage-steps": declared}
    return _context("G", values, experiment)


def stage_counters(
    experiment: Experiment, evaluator: Evaluator, loader: str, stage: str, batch: int | None
) -> dict[str, int]:
    """What each counter of a loader adds a step of a stage (R7)."""
    declared = experiment.loaders[loader]
    values = {
        "stage": ":" + stage,
        "loader": _symbol(evaluator, loader),
        "batch": batch,
        "window": window_of(experiment, loader, stage),
    }
    at = evaluator.host
    found: dict[str, int] = {}
    for name, function in declared.counters.items():
        at.context = Context("L", values)
        try:
            value = first_value(evaluator.call(function))
        finally:
            at.context = None
        if value.__class__ is not int or value < 0:
            raise problem(
                "E-OPTION-VALUE",
                f"the counter :{name} is {describe(value)}, wants an integer from 0",
                hint="without (windows n) there is no (ctx :window)"
                if value is NIL
                else "what depends on contents is a metric with :reduce :sum",
            ).locate(declared.place("", ("counter", name)) or declared.span)
        found[name] = value
    return found


def curriculum_of(
    experiment: Experiment, evaluator: Evaluator, bound: int | None, stages: Iterable[str]
) -> Curriculum:
    """What to ask for the stage of each step; `bound`: steps of the run, as far as known;
    `stages`: LOADER:STAGE of those that train."""
    return Curriculum(experiment, evaluator, bound, _counters(experiment), frozenset(stages))


def unreached(traced: Traced) -> Callable[[list[str]], None]:
    """What to tell the paths that no gradient reaches: raises E-PARAM-UNREACHED for each."""

    def tell(paths: list[str]) -> None:
        rows = [_unreached(traced.parameters[path]) for path in paths]
        if rows:
            raise Problems(sorted(rows, key=lambda d: d.span.start if d.span else 0))

    return tell


def _unreached(parameter: Parameter) -> Diagnostic:
    return diagnostic(
        "E-PARAM-UNREACHED",
        f"no gradient reaches {parameter.path} {parameter.type}",
        span=parameter.span,
        hint="use it in the loss, freeze it by (group (select ...) :frozen), or delete it",
        path=parameter.path,
    )


def window_of(experiment: Experiment, loader: str, stage: str) -> int | None:
    """n of `windows` in a stage."""
    declared = experiment.loaders[loader]
    windows = _stage(experiment, loader, stage).windows or declared.windows
    return windows.size if windows is not None else None


def _stage(experiment: Experiment, loader: str, stage: str) -> StageDeclaration:
    """E-LOADER-STAGE where there is none."""
    if loader not in experiment.loaders:
        near = nearest(loader, experiment.loaders)
        hint = f"did you mean {near}?" if near else None
        raise problem("E-LOADER-STAGE", f"no loader {loader}", hint=hint)
    stages = experiment.loaders[loader].stages
    if stage not in stages:
        near = nearest(stage, stages)
        hint = f"did you mean :{near}?" if near else "stages: " + " ".join(f":{s}" for s in stages)
        raise problem("E-LOADER-STAGE", f"loader {loader} has no stage :{stage}", hint=hint)
    return stages[stage]


def _symbol(evaluator: Evaluator, loader: str) -> Any:
    return evaluator.host.collector.loader_symbols[loader]


def _counters(experiment: Experiment) -> frozenset[str]:
    return frozenset(c for loader in experiment.loaders.values() for c in loader.counters)


def _context(place: str, values: Mapping[str, Any], experiment: Experiment) -> Context:
    return Context(place, values, _counters(experiment), full=experiment.run.full)


def _facts(
    experiment: Experiment,
    evaluator: Evaluator,
    loader: str,
    stage: str,
    rows: int | None,
    steps: int | None,
    microbatches: int,
    world: int,
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "stage": ":" + stage,
        "loader": _symbol(evaluator, loader),
        "seed": experiment.run.seed,
        "batch": None if rows is None else rows * microbatches * world,
        "window": window_of(experiment, loader, stage),
        "microbatches": microbatches,
        "world": world,
    }
    known = steps if steps is not None else experiment.run.steps
    if known is not None:
        facts["steps"] = known
    return facts


def _check_pass_parameters(
    made: Mapping[str, Parameter], known: Mapping[str, Parameter] | None, where: str
) -> None:
    if known is None:
        return
    rows = [
        diagnostic(
            "E-PARAM-PASS",
            f"{p.path} is made in {where} and in no training stage",
            span=p.span,
            path=p.path,
        )
        for p in made.values()
        if p.path not in known
    ]
    if rows:
        raise Problems(rows)
