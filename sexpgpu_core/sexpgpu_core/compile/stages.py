"""Each training stage and each pass of an experiment, traced: what later phases take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..data.loader import Loader
from ..diagnostics import Problem, Problems, nearest, problem
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import Experiment, PassDeclaration
from ..ir import Operations
from ..ir.types import Type
from ..records import NamedTuple
from ..staging.curriculum import default_stage
from ..staging.optimize import cycle
from ..staging.trace import (
    curriculum_of,
    stage_counters,
    trace_optimizer,
    trace_pass,
    trace_stage,
)
from ..staging.traced import Optimization, Parameter, Traced, TracedOutput
from .averages import averaged_paths, check_averages, check_reads, check_states
from .identity import host_code
from .sealing import ROWS, judgement

if TYPE_CHECKING:
    from ..runtime.curriculum import Ask
    from .ahead import Ahead


class StageTrace(NamedTuple):
    """A training stage: its block of B / M rows, its optimizer, what its counters add."""

    traced: Traced
    optimization: Optimization
    rows: int  # B
    microbatches: int
    counters: Mapping[str, int]
    precision: str = "f32"


class PassTrace(NamedTuple):
    """A pass: for batches of B rows, and for the rows that are left (None: not needed)."""

    declared: PassDeclaration
    loader: str  # of whose stage it is traced
    stage: str
    whole: Traced | TracedOutput | None
    rest: Traced | TracedOutput | None
    rows: int
    rest_rows: int
    precision: str = "f32"
    averaged: frozenset[str] = frozenset()  # names that an average is kept of
    end: Traced | None = None  # what is computed once of all examples (R22)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Those that it reads."""
        traced = self.whole or self.rest
        return traced.parameters if traced is not None else {}

    def programs(self) -> list[tuple[str, Traced | TracedOutput, int]]:
        """Names of its programs, what each was traced to, and how many rows it takes."""
        name = f"eval/{self.declared.name}"
        end = self.end
        found: list[tuple[str, Traced | TracedOutput | None, int]] = [
            (name, self.whole, self.rows),
            (f"{name}/rest", self.rest, self.rest_rows),
            (f"{name}/end", end, end.rows if end is not None else 0),
        ]
        return [(n, traced, rows) for n, traced, rows in found if traced is not None]


def program_of(key: str, stages: Iterable[str]) -> str:
    """The name of a stage's step: step/STAGE, or step/LOADER:STAGE where two loaders have it."""
    stage = key.partition(":")[2]
    shared = sum(other.partition(":")[2] == stage for other in stages) > 1
    return f"step/{key if shared else stage}"


def steps_of(
    key: str, stage: StageTrace, stages: Iterable[str]
) -> dict[str, frozenset[int] | None]:
    """Names of a stage's steps and the groups that each updates: one, or one a pattern."""
    name, patterns = program_of(key, stages), list(dict.fromkeys(cycle(stage.optimization)))
    if len(patterns) == 1:
        return {name: None}
    return {name if i == 0 else f"{name}/{i}": due for i, due in enumerate(patterns)}


def observer_of(key: str, stages: Iterable[str]) -> str:
    """The name of a stage's observer: observe/STAGE."""
    return "observe" + program_of(key, stages).removeprefix("step")


class Tracing:
    """Traces programs of one experiment."""

    def __init__(
        self,
        experiment: Experiment,
        evaluator: Evaluator,
        operations: Operations,
        loaders: Mapping[str, Loader],
    ) -> None:
        self.experiment = experiment
        self.evaluator = evaluator
        self.operations = operations
        self.loaders = loaders
        self.ask: Ask | None = None
        self.ahead: Ahead | None = None
        self._run_ahead()

    def training_stages(self) -> list[tuple[str, str]]:
        """Stages that train: the default one, or with a curriculum all that no pass claims."""
        if self.experiment.curriculum is None:
            return [default_stage(self.experiment)]
        passes = {(p.loader, p.stage) for p in self.experiment.passes.values()}
        return [
            (name, stage)
            for name, loader in self.experiment.loaders.items()
            for stage in loader.stages
            if (name, stage) not in passes
        ]

    def steps(self) -> int:
        """Steps of the run. E-STEPS-UNKNOWN where epochs or :until cannot be turned into steps."""
        if self.ahead is not None:
            return self._known_steps(self.ahead.steps)
        until = self.experiment.run.until
        if until is None:
            return self._known_steps(self.bound())
        loader, stage = self.training_stages()[0]
        counters = self._counters(loader, stage)
        grows = counters.get(until[0], 0)
        if grows <= 0:
            raise _grows_not(until[0], stage, counters).locate(self.experiment.run.span)
        return math.ceil(until[1] / grows)

    def bound(self) -> int | None:
        """Steps as `:steps` or `:epochs` say, which a curriculum may end earlier; None with
        `:until`."""
        run = self.experiment.run
        if run.steps is not None or run.epochs is None:
            return run.steps
        loader, stage = default_stage(self.experiment)
        batches = self.loaders[loader].batches(stage)
        if batches is None and self.loaders[loader].unscanned(stage) is not None:
            told = f"the steps of {run.epochs} epochs are not known before its data is read"
            raise problem(
                "W-DATA-UNREAD", told, hint="check --data reads it, and so does a run"
            ).locate(run.span)
        if batches is None:
            raise problem(
                "E-STEPS-UNKNOWN", f"{loader} has no end, so {run.epochs} epochs have none"
            ).locate(run.span)
        return run.epochs * batches

    def _known_steps(self, steps: int | None) -> int:
        if steps is None:
            raise problem(
                "E-STEPS-UNKNOWN",
                "when :until is reached is not known before the run: curriculum decides it",
                hint="say :steps, an upper bound",
            ).locate(self.experiment.run.span)
        return steps

    def _run_ahead(self) -> None:
        """Asks the curriculum for the stages of all steps, as far as it reads no metric."""
        if self.experiment.curriculum is None:
            return
        from .ahead import planned, run_ahead

        stages = {
            f"{loader}:{stage}": planned(
                loader, stage, self.loaders[loader].rows(stage), self._counters(loader, stage)
            )
            for loader, stage in self.training_stages()
        }
        until = self.experiment.run.until
        self.ask = curriculum_of(self.experiment, self.evaluator, self.bound(), stages)
        self.ahead = run_ahead(self.ask, stages, self.loaders, self.bound(), until)

    def _counters(self, loader: str, stage: str) -> dict[str, int]:
        rows = self.loaders[loader].rows(stage)
        return stage_counters(self.experiment, self.evaluator, loader, stage, rows)

    def stage(self, loader: str, stage: str, steps: int) -> StageTrace:
        """One training stage. E-BATCH-DIVIDE where M does not divide B."""
        declared = self.experiment.loaders[loader].stages[stage]
        rows = self.loaders[loader].rows(stage)
        blocks = declared.microbatches or self.experiment.run.microbatches
        if rows % blocks:
            raise problem(
                "E-BATCH-DIVIDE",
                f"{rows} rows are no whole multiple of {blocks} microbatches",
                rows=rows,
                microbatches=blocks,
            ).locate(declared.span or self.experiment.run.span)
        trace = partial(
            trace_stage,
            self.experiment,
            self.evaluator,
            self.operations,
            loader,
            stage,
            self.fields(loader, stage, rows // blocks),
            self.batch(loader, rows // blocks),
            steps=steps,
            microbatches=blocks,
        )
        traced = trace()
        optimization = trace_optimizer(
            self.experiment,
            self.evaluator,
            self.operations,
            traced,
            steps=steps,
            microbatches=blocks,
        )
        if kept := optimization.kept(traced.parameters):
            traced = trace(kept=kept)
        check_reads(traced, optimization)
        counters = self._counters(loader, stage)
        precision = self.precision(loader, stage)
        return StageTrace(traced, optimization, rows, blocks, counters, precision)

    def precision(self, loader: str, stage: str) -> str:
        """A stage's own, or the run's."""
        own = self.experiment.loaders[loader].stages[stage].precision
        return own or self.experiment.run.precision

    def evaluation(
        self, declared: PassDeclaration, stages: Mapping[str, StageTrace], steps: int
    ) -> PassTrace:
        """One pass: over a loader's stage, of an output, or of an output over a stage."""
        check_averages(declared, stages.values())
        known = {p: v for s in stages.values() for p, v in s.traced.parameters.items()}
        averaged = averaged_paths(stages.values())
        if declared.output is not None:
            return self._of_output(declared, known, averaged)
        assert declared.loader is not None
        assert declared.stage is not None
        loader, stage = declared.loader, declared.stage
        rows = self.loaders[loader].rows(stage)
        whole, rest = self.loaders[loader].evaluation_rows(stage, declared.batches)
        of_whole = self._pass(declared, rows, known, averaged, steps) if whole else None
        of_rest = self._pass(declared, rest, known, averaged, steps) if rest else None
        check_states(self.evaluator, declared, of_whole or of_rest)
        ends = None
        if any(t is not None and t.gathered for t in (of_whole, of_rest)):
            from .gathering import cut_off

            of_whole, of_rest, ends = cut_off(of_whole, of_rest, self.operations)
        return PassTrace(
            declared,
            loader,
            stage,
            of_whole,
            of_rest,
            rows,
            rest,
            self.precision(loader, stage),
            averaged,
            ends,
        )

    def _of_output(
        self,
        declared: PassDeclaration,
        known: Mapping[str, Parameter],
        averaged: frozenset[str],
    ) -> PassTrace:
        from .output_passes import stage_of, whole_and_rest

        whole, rest = whole_and_rest(self, declared, known, averaged)
        check_states(self.evaluator, declared, whole or rest)
        at = stage_of(self, declared)
        sizes = (whole.rows or 1 if whole else 0), (rest.rows or 1 if rest else 0)
        return PassTrace(declared, *at, whole, rest, *sizes, self.precision(*at), averaged)

    def judgement(self, trace: PassTrace, steps: int) -> str:
        """How a pass judges, by a trace for few rows; by its own where it wants its batch."""
        evaluator = self.evaluator
        traced: Traced | TracedOutput | None
        warned, printed = len(evaluator.diagnostics), len(evaluator.output)
        try:
            known, averaged = trace.parameters, trace.averaged
            traced = self._small(trace.declared, known, averaged, steps)
        except (Problem, Problems):
            traced = trace.whole or trace.rest
        finally:
            del evaluator.diagnostics[warned:], evaluator.output[printed:]
        assert traced is not None, "a pass has a batch or a rest"
        return judgement(traced.graph, self.operations)

    def _small(
        self,
        declared: PassDeclaration,
        known: Mapping[str, Parameter],
        averaged: frozenset[str],
        steps: int,
    ) -> Traced | TracedOutput:
        if declared.output is None:
            return self._pass(declared, ROWS, known, averaged, steps)
        from .output_passes import traced_output

        return traced_output(self, declared, ROWS, known, averaged)

    def evaluated(self, trace: PassTrace) -> tuple[str, tuple[Any, ...]]:
        """The fingerprint of what a pass reads, and how it reads it."""
        if trace.declared.loader is None:
            return "", ()
        of = self.experiment.loaders[trace.loader]
        declared = of.stages[trace.stage]
        windows = declared.windows or of.windows
        rows = trace.rows if trace.declared.batches is not None else None
        by = repr(declared.split_by or of.split_by)
        host = host_code(self.experiment, trace.loader, trace.declared.stage or "")
        cut = (declared.split, by, declared.mask is not None, *host)
        reading = (*cut, declared.order, tuple(windows) if windows else None, rows)
        return self.loaders[trace.loader].fingerprint(trace.stage), reading

    def _pass(
        self,
        declared: PassDeclaration,
        rows: int,
        known: Mapping[str, Parameter],
        averaged: frozenset[str],
        steps: int,
    ) -> Traced:
        assert declared.loader is not None
        assert declared.stage is not None
        of = self.loaders[declared.loader]
        whole = of.rows(declared.stage)
        batches, rest = of.evaluation_rows(declared.stage, declared.batches)
        return trace_pass(
            self.experiment,
            self.evaluator,
            self.operations,
            declared.name,
            declared.loader,
            declared.stage,
            self.fields(declared.loader, declared.stage, rows),
            self.batch(declared.loader, rows),
            steps=steps,
            known=known,
            averaged=averaged,
            whole_rows=max(whole, rows),
            examples=batches * whole + rest,
        )

    def batch(self, loader: str, rows: int) -> int | None:
        return None if self.experiment.loaders[loader].whole else rows

    def fields(self, loader: str, stage: str, rows: int) -> dict[str, Type]:
        """Types of the raw fields with the batch axis in front."""
        of = self.loaders[loader].fields(stage)
        if self.experiment.loaders[loader].whole:
            return dict(of)
        return {name: Type(t.dtype, (rows, *t.shape)) for name, t in of.items()}


def _grows_not(name: str, stage: str, counters: Mapping[str, int]) -> Problem:
    """E-STEPS-UNKNOWN of a counter of :until, with the nearest."""
    near = nearest(name, counters)
    listed = " ".join(f":{c}" for c in counters) or "none; (counter :tokens n) in the loader"
    return problem(
        "E-STEPS-UNKNOWN",
        f"no counter :{name} grows in :{stage}",
        hint=f"did you mean :{near}?" if near else f"its counters: {listed}",
        written=f":{name}",
        nearest=f":{near}" if near else None,
    )
