"""What the loop is handed: compiled programs and every fact it needs, decided beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..device import Unit
from ..experiment.declarations import Experiment
from ..ir.types import Type
from ..plan.plan import Persistent
from ..records import NamedTuple

if TYPE_CHECKING:
    import numpy as np


class MetricSpec(NamedTuple):
    """One metric of a program. `kind`: mean sum max min.

    Results `metric:NAME:sum` and `metric:NAME:weight` (mean) or `metric:NAME:value`, scalars of
    f32 (f64 in a run of that), are added (sum, mean) or combined over batches in f64; `finish`
    maps the combined value to what is reported (identity for most).
    """

    name: str  # as written: "loss"; the series is STAGE-OR-PASS/name
    kind: str
    unit: str | None = None
    finish: Callable[[float], float] | None = None


class ProgramFacts(NamedTuple):
    """One program of a stage or pass: its fields (raw loader fields and their types), the step
    scalars it reads (canonical text -> tree, see ir.scalars), its metrics."""

    program: str
    fields: Mapping[str, Type]
    scalars: Mapping[str, Any]
    metrics: tuple[MetricSpec, ...]
    rows: int  # of a batch


class ProbeSpec(NamedTuple):
    """One diagnostic number. `pieces`: it is made of results `probe:NAME:0`, ... that are arrays
    for histogram and quantiles, one scalar else. `measure`: of the host, from `HostFacts`."""

    name: str
    reduce: str
    unit: str
    pieces: int = 1
    measure: Callable[[HostFacts], float] | None = None


class HostFacts(NamedTuple):
    """What the host knows of a step. Seconds waited for its batch; bytes this process held."""

    data_wait: float
    peak_memory: int


class Observed(NamedTuple):
    """What is sampled of a stage's steps. `program`: the observer; None with host's alone."""

    program: ProgramFacts | None
    probes: tuple[ProbeSpec, ...]


class StageFacts(NamedTuple):
    """A training stage: `text:train`. Results of its program besides metrics: `loss` (a scalar
    of f32 or f64), `norm` (gradient norm before clipping)."""

    loader: str
    stage: str
    step: ProgramFacts
    microbatches: int
    counters: Mapping[str, int]  # added a step
    flops: int
    observed: Observed | None = None
    course: tuple[ProgramFacts, ...] = ()  # by step modulo its length, where groups rest (R33)
    cadences: Mapping[str, tuple[int, int]] = {}  # counts of updates: every, offset

    def due(self, step: int) -> ProgramFacts:
        """The program of the step before which `step` were done."""
        return self.course[step % len(self.course)] if self.course else self.step

    @property
    def scaled(self) -> bool:
        """Whether its steps read a loss scale."""
        return "(ctx :loss-scale)" in self.step.scalars


class OutputFacts(NamedTuple):
    """What a pass computes beside metrics: results `output:NAME`. `axes`: of rows, by name; None:
    of none. `drawn`: fields that are no batch's. `save`: as a pass declares it."""

    name: str
    axes: Mapping[str, int | None]
    drawn: Callable[[], Mapping[str, np.ndarray]]
    save: Any


class PassFacts(NamedTuple):
    """An evaluation pass: `whole` for batches of B rows, `rest` for the last short one, if any.

    `end`: what runs once, of results `over:I` of every batch, joined; they are its fields. `loader`
    None: it runs once, without a batch."""

    name: str
    loader: str | None
    stage: str
    whole: ProgramFacts | None
    rest: ProgramFacts | None
    batches: int | None
    end: ProgramFacts | None = None
    output: OutputFacts | None = None

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """All that it reports."""
        batch = self.whole or self.rest
        programs = (batch, self.end)
        return tuple(spec for p in programs if p is not None for spec in p.metrics)


class Job(NamedTuple):
    """A compiled experiment. `initial` computes the value of a persistent name at step 0."""

    experiment: Experiment
    stages: Mapping[str, StageFacts]  # "LOADER:STAGE", in order of declaration
    passes: Mapping[str, PassFacts]
    units: tuple[Unit, ...]
    persistent: Persistent
    initial: Callable[[str], np.ndarray]
    ir_hash: str
    experiment_id: str
    evaluation_ids: Mapping[str, str]
    steps: int
    weights: tuple[Mapping[str, Any], ...] = ()  # files that it begins with: path, sha256, bytes
    graphs: Mapping[str, str] = {}  # program -> text of its graph, for graph.ir
    summary: Mapping[str, Any] = {}  # what check prints and open records
    curriculum: Callable[[Mapping[str, Any], Callable[[str, str], Any]], str | None] | None = None
    fixed: Mapping[str, Type] = {}  # parameters that no step writes, which checkpoints share
    files: tuple[Mapping[str, Any], ...] = ()  # arrays of files: entries of the manifest's data

    @property
    def trained(self) -> frozenset[str]:
        """Names of the programs that a trajectory's bits come from."""
        steps = (p for stage in self.stages.values() for p in (stage.step, *stage.course))
        return frozenset(p.program for p in steps)
