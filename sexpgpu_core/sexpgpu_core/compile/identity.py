"""What an experiment is, as hashes: equal training, equal evaluation (45.22, 65 A10)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from ..experiment.declarations import Experiment, PassDeclaration
from ..ir import Operations
from ..ir.hash import graph_hash
from ..ir.scalars import text
from ..staging.traced import Optimization, Traced

IR_VERSION = "1"


def digest(*parts: Any) -> str:
    """SHA-256 over the printed parts; each is a text, a number, None or a tuple of such."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def training_roots(traced: Traced) -> list[str]:
    """Results that training depends on: losses and proposals, not metrics."""
    return [name for name in traced.graph.results if not name.startswith(("metric:", "ratio:"))]


def ir_hash(
    experiment: Experiment,
    stages: Mapping[str, tuple[Traced, Optimization]],
    operations: Operations,
    course: tuple[Any, ...] = (),
) -> str:
    """Hash of the training IR: graphs as traced, updates, guard. Not of seed, steps or data.

    `course`: what decides the stage of each step, where there is a curriculum."""
    run = experiment.run
    parts = tuple(
        (key, _stage(traced, optimization, operations))
        for key, (traced, optimization) in stages.items()
    )
    more = (course,) if course else ()
    return digest(IR_VERSION, parts, run.microbatches, run.finite_guard, *more)


def _stage(traced: Traced, optimization: Optimization, operations: Operations) -> tuple[Any, ...]:
    unlike = {id(u.body): u.body for u in optimization.updates.values()}
    bodies = {key: graph_hash(body, operations) for key, body in unlike.items()}
    updates = tuple(
        (path, bodies[id(update.body)], tuple((s.name, s.init) for s in update.states))
        for path, update in sorted(optimization.updates.items())
    )
    parameters = tuple(
        (p.path, p.type.dtype, p.type.shape, repr(p.init)) for p in traced.parameters.values()
    )
    frozen = tuple(sorted(p for g in optimization.groups if g.frozen for p in g.paths))
    options = tuple(
        None if tree is None else text(tree)
        for tree in (optimization.clip_norm, optimization.clip_value, optimization.ema)
    )
    graph = graph_hash(traced.graph, operations, training_roots(traced))
    unlike_groups = tuple(
        sorted(
            (path, g.loss or "", g.every, g.offset)
            for g in optimization.groups
            for path in g.paths
            if g.loss or g.every != 1
        )
    )
    states = tuple(
        (s.path, s.type.dtype, s.type.shape, s.combine, repr(s.init))
        for s in traced.states.values()
    )
    more = tuple(part for part in (unlike_groups, states) if part)
    return graph, parameters, updates, frozen, options, *more


def _reading(experiment: Experiment, key: str) -> tuple[Any, ...]:
    """How a stage is read: what decides the order and the rows of its batches."""
    loader, stage = key.split(":")
    declared = experiment.loaders[loader].stages[stage]
    of = experiment.loaders[loader]
    windows = declared.windows or of.windows
    return (
        declared.split,
        declared.order or "shuffled",
        declared.batch or of.batch,
        tuple(windows) if windows else None,
        repr(declared.split_by or of.split_by),
        declared.microbatches,
        declared.precision,
        *host_code(experiment, loader, stage),
    )


def host_code(experiment: Experiment, loader: str, stage: str) -> tuple[Any, ...]:
    """What functions on the host follow from: `map` calls whatever the file defines, with any knob.
    Comments and layout are not in it; any other change of the file, or of what it requires, is."""
    of = experiment.loaders[loader]
    declared = of.stages[stage]
    if not (declared.maps or of.maps or (declared.source or of.source).kind == "synthetic"):
        return ()
    from ..reader.words import words

    modules = tuple(digest(words(module.text)) for module in experiment.modules)
    knobs = tuple((name, knob.text) for name, knob in experiment.knobs.items())
    return digest(words(experiment.text)), modules, knobs


def experiment_id(
    ir: str,
    experiment: Experiment,
    data: Mapping[str, str],
    steps: int,
    loads: tuple[Any, ...] = (),
) -> str:
    """Twelve hex digits: IR, data and how it is read, seed, steps, precision, determinism.

    `data`: fingerprints by "LOADER:STAGE"; `loads`: what is loaded to begin with.
    Selection, passes and device are not in it (65 A10).
    """
    run = experiment.run
    read = tuple((key, found, _reading(experiment, key)) for key, found in data.items())
    more = (loads,) if loads else ()
    return digest(ir, read, run.seed, steps, run.precision, run.deterministic, *more)[:12]


def evaluation_id(graph: str, declared: PassDeclaration, data: str, reading: Iterable[Any]) -> str:
    """Twelve hex digits of a pass: how it judges, data, cadence and weights."""
    cadence = (declared.every, declared.at, declared.batches, repr(declared.weights))
    return digest(graph, data, tuple(reading), cadence)[:12]
