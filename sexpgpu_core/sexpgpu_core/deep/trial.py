"""A copy of a file compiled with programs of its gradients, on a device, ready to be tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..compile.phases import Phases
from ..compile.pipeline import compile_traces
from ..compile.programs import Target, make_unit, nobody, recognized, scalars_of
from ..compile.stages import StageTrace
from ..data.loader import Loader
from ..device import Device, Outcome, Unit
from ..ir import Graph, Operations
from ..runtime.job import PassFacts, ProgramFacts, StageFacts
from ..runtime.progress import Progress, evaluate
from ..runtime.resume import restore
from ..staging.trace import trace_stage
from ..staging.traced import Traced
from ..step.assemble import blocks_of, gradients_of, losses_of
from ..step.updates import groups_due
from .shrink import Copy

if TYPE_CHECKING:
    import numpy as np

Arrays = Mapping[str, "np.ndarray"]


class Trial:
    """The first stage that trains, in f32, or f64 where the run is. `blocks`: numbers of
    microbatches of which gradients are computed; 1 is always there."""

    def __init__(self, copy: Copy, device: Device, operations: Operations, threads: int) -> None:
        self.copy, self.operations = copy, operations
        self.experiment = copy.loaded.experiment
        self.key, self.stage = next(iter(copy.traces.stages.items()))
        self.loader: Loader = copy.loaded.loaders[self.key.partition(":")[0]]
        told = nobody()
        compiled = compile_traces(copy.traces, operations, device, Phases(), told, {})
        self.job = compiled.job
        target = Target(device, operations, self.experiment.run.full, Phases(), told)
        self.traced = {1: self.stage.traced, **self._cut()}
        self._gradients: dict[int, ProgramFacts] = {}
        units = [*self.job.units]
        for blocks, traced in self.traced.items():
            units.append(self._unit(blocks, traced, target))
        self.session = device.open(tuple(units), self.job.persistent, threads=threads)
        self.reset()

    def _cut(self) -> dict[int, Traced]:
        """The stage traced for a part of its batch, where it has parts; raises as tracing does."""
        rows, blocks = self.stage.rows, 2
        whole = self.experiment.loaders[self.loader.name].whole
        if whole or rows % blocks or self.stage.microbatches != 1:
            return {}
        name, _, stage = self.key.partition(":")
        tracing = self.copy.traces.tracing
        from ..diagnostics import Problem, Problems

        try:
            cut = trace_stage(
                self.experiment,
                self.copy.loaded.evaluator,
                self.operations,
                name,
                stage,
                tracing.fields(name, stage, rows // blocks),
                tracing.batch(name, rows // blocks),
                steps=self.copy.traces.steps,
                microbatches=blocks,
                kept={path: p.type.dtype for path, p in self.stage.traced.parameters.items()},
            )
        except (Problem, Problems):
            return {}  # no affine objective: the file is for one block alone
        return {blocks: cut}

    def _unit(self, blocks: int, traced: Traced, target: Target) -> Unit:
        name = f"deep/gradients/{blocks}"
        graph = recognized(name, traced.graph, self.operations, nobody())
        graph = _gradient_graph(traced._replace(graph=graph), self.stage, self.operations, blocks)
        unit = make_unit(name, graph, self.job.persistent, target)
        fields = {n: t for n, t in self.facts.step.fields.items() if n in traced.fields}
        scalars = scalars_of(unit.graph, traced.scalars)
        self._gradients[blocks] = ProgramFacts(name, fields, scalars, (), self.stage.rows)
        return unit

    @property
    def facts(self) -> StageFacts:
        return self.job.stages[self.key]

    def reset(self) -> None:
        """Every value as it is before step 0."""
        restore(self.session, self.job, None)

    def shaken(self) -> None:
        """Every trained parameter a little away from where it begins, often at a kink: zeros."""
        import numpy as np

        rng = np.random.default_rng(0)
        for path in groups_due(self.stage.optimization):
            value = self.session.read(f"parameter:{path}")
            size = float(np.sqrt(np.mean(np.square(value, dtype=np.float64)))) or 0.1
            moved = value + 0.05 * size * rng.standard_normal(value.shape)
            self.session.write(f"parameter:{path}", moved.astype(value.dtype))

    def context(self, at: int = 0, updates: int = 0) -> dict[str, float]:
        """What a step scalar is made of at a step of the schedule, after so many updates."""
        progress = Progress(self.job.steps, step=at, updates=updates)
        progress.groups = dict.fromkeys(self.facts.cadences, updates)
        progress.batches = {self.key: at}
        found = progress.context(self.key, self.facts, self.loader)
        return {**found, "position": 0.0, "loss-scale": 1.0}

    def batch(self, number: int) -> Arrays:
        """A batch of training."""
        return self.loader.batch(self.facts.stage, number, tuple(self.facts.step.fields))

    def launch(self, facts: ProgramFacts, batch: Arrays, context: Mapping[str, float]) -> Outcome:
        fields = {name: batch[name] for name in facts.fields}
        scalars = evaluate(facts.scalars, context)
        return self.session.program(facts.program).launch(fields, scalars).outcome()

    def gradients(self, batch: Arrays, blocks: int = 1) -> dict[str, Any]:
        """Losses, and "gradient:PATH" of each parameter, before step 0's update."""
        return self.launch(self._gradients[blocks], batch, self.context()).results

    def passes(self) -> list[PassFacts]:
        return list(self.job.passes.values())

    def close(self) -> None:
        self.session.close()


def _gradient_graph(
    traced: Traced, stage: StageTrace, operations: Operations, blocks: int
) -> Graph:
    """Losses and gradients alone: nothing is updated."""
    given, b = blocks_of(traced, stage.optimization, operations, blocks)
    losses = losses_of(b, traced, given)
    paths = list(groups_due(stage.optimization))
    gradients = gradients_of(b, stage.optimization, operations, losses, paths, False)
    b.graph.results = {**losses, **{f"gradient:{p}": g for p, g in gradients.items()}}
    return b.graph
