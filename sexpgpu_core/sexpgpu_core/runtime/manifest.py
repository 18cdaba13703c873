"""manifest.json and what `open` repeats of it: everything a run is, decided before step 0."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..data.loader import Loader
from ..diagnostics.places import shown_path
from .job import Job, MetricSpec, StageFacts
from .machine import Machine, environment, git

VERSION = 1


def manifest(
    job: Job,
    run: str,
    machine: Machine,
    loaders: Mapping[str, Loader],
    files: Sequence[Mapping[str, Any]],
    modules: Sequence[Mapping[str, Any]],
    created_at: str,
    command: Sequence[str],
    parent: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The document, by contracts/schemas/manifest.json."""
    experiment = job.experiment
    folder = Path(experiment.path).resolve().parent
    return {
        "version": VERSION,
        "document": "manifest",
        "run": run,
        "created_at": created_at,
        **_identity(job),
        "file": shown_path(experiment.path),
        "files": list(files),
        "modules": list(modules),
        "data": [*(loader.identity() for loader in loaders.values()), *job.files],
        **({"weights": [_weights(w) for w in job.weights]} if job.weights else {}),
        "selection": job.experiment.chosen(),
        "deterministic": experiment.run.deterministic,
        "passes": {name: _pass(job, name) for name in job.passes},
        "device": dict(machine.device),
        "host": machine.host,
        "versions": dict(machine.versions),
        "plugins": dict(machine.plugins),
        "git": git(folder),
        "command": [unasked(word) for word in command],
        "cwd": str(Path.cwd()),
        "environment": {name: unasked(value) for name, value in environment().items()},
        "parent": parent,
        "sweep": _sweep(job.experiment.selection.get("point")),
        "numerics": dict(machine.numerics),
        "rank": _rank(job),
        **_swept(job),
    }


def unasked(text: str) -> str:
    """Without the query strings and the passwords of URLs, which are secrets as a rule (65 C28)."""
    cut = re.sub(r"(://[^\s?#]*)\?[^\s#,]*", r"\1", text)
    return re.sub(r"://[^\s/@]*:[^\s/@]*@", "://", cut)


def opening(job: Job, machine: Machine, parent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Keys of the `open` event."""
    flops = max((stage.flops for stage in job.stages.values()), default=0)
    return {
        "file": shown_path(job.experiment.path),
        **_identity(job),
        "selection": job.experiment.chosen(),
        "device": dict(machine.device),
        "parameters": parameters(job),
        "flops_per_step": flops,
        "versions": dict(machine.versions),
        "parent": parent,
        "series": series(job),
    }


def notes(job: Job) -> list[str]:
    """What the file says of this run: words of the variant and the sweep that were chosen."""
    experiment = job.experiment
    variant = experiment.variants.get(experiment.selection.get("variant") or "")
    sweep = experiment.sweeps.get((experiment.selection.get("point") or "").partition("/")[0])
    named = (("variant", variant), ("sweep", sweep))
    return [f"{kind} {one.name}: {one.doc}" for kind, one in named if one is not None and one.doc]


def _sweep(point: str | None) -> dict[str, str] | None:
    """Which sweep a run was begun for."""
    if point is None:
        return None
    name, _, point = point.partition("/")
    return {"name": name, "point": point}


def _swept(job: Job) -> dict[str, Any]:
    """What the run's sweep is ranked by, where its file names no best checkpoint."""
    point = job.experiment.selection.get("point")
    if point is None or job.experiment.run.checkpoint.best:
        return {}
    options = job.experiment.sweeps[point.partition("/")[0]].options
    if "rank" not in options:
        return {}
    metric, goal, *_ = options["rank"]
    return {"sweep_rank": {"metric": metric, "goal": goal}}


def _identity(job: Job) -> dict[str, Any]:
    return {
        "experiment_id": job.experiment_id,
        "ir_sha256": job.ir_hash,
        "evaluation_ids": dict(job.evaluation_ids),
        "seed": job.experiment.run.seed,
        "steps": job.steps,
        "precision": job.experiment.run.precision.lstrip(":"),
    }


def parameters(job: Job) -> int:
    """Numbers that are trained or could be."""
    types = job.persistent.types
    return sum(types[name].size for name in types if name.startswith("parameter:"))


def _weights(file: Mapping[str, Any]) -> dict[str, Any]:
    return {**file, "path": shown_path(str(file["path"]))}


def _pass(job: Job, name: str) -> dict[str, Any]:
    facts, declared = job.passes[name], job.experiment.passes[name]
    said: dict[str, Any] = {"batches": facts.batches}
    if facts.loader is not None:
        said["loader"] = f"{facts.loader}:{facts.stage}"
    if declared.output is not None:
        said["output"] = declared.output
    if declared.weights != "live":
        best = isinstance(declared.weights, tuple)
        said["weights"] = f"best {declared.weights[1]}" if best else declared.weights
    if declared.every:
        said["every"] = declared.every
    if declared.at:
        said["at"] = [str(at).lstrip(":") if isinstance(at, str) else at for at in declared.at]
    return said


def series(job: Job) -> dict[str, Any]:
    """Every series the run reports: its kind, unit, reduction and direction where known."""
    found: dict[str, Any] = {}
    for stage in job.stages.values():
        found[f"{stage.stage}/objective"] = {"kind": "metric", "reduce": "mean", "goal": "min"}
        found.update(_metrics(stage.stage, stage.step.metrics))
        found.update({name: {"kind": "counter"} for name in stage.counters})
        found.update(_probes(stage))
    for name, facts in job.passes.items():
        found.update(_metrics(name, facts.metrics))
    for name, goal in goals(job).items():
        if name in found:
            found[name]["goal"] = goal
    return found


def _probes(stage: StageFacts) -> dict[str, Any]:
    """The diagnostic numbers that are sampled."""
    probes = stage.observed.probes if stage.observed is not None else ()
    return {
        p.name: {
            "kind": "diagnostic",
            "reduce": p.reduce,
            **({"unit": p.unit} if p.unit else {}),
        }
        for p in probes
    }


def _metrics(prefix: str, specs: Iterable[MetricSpec]) -> dict[str, Any]:
    return {
        f"{prefix}/{spec.name}": {
            "kind": "metric",
            "reduce": spec.kind,
            **({"unit": spec.unit} if spec.unit else {}),
        }
        for spec in specs
    }


def _rank(job: Job) -> dict[str, str] | None:
    """By which number this run is better than another: `:checkpoint :best`, or the only target."""
    best, targets = job.experiment.run.checkpoint.best, job.experiment.targets
    if best is None and len(targets) != 1:
        return None
    series = best[0] if best is not None else targets[0].series
    return {"metric": series, "goal": goals(job)[series]}


def goals(job: Job) -> dict[str, str]:
    """Series whose direction the file says -> min or max."""
    found = {t.series: "min" if t.goal == "below" else "max" for t in job.experiment.targets}
    best = job.experiment.run.checkpoint.best
    if best is not None:
        found[best[0]] = best[1].lstrip(":")
    return found
