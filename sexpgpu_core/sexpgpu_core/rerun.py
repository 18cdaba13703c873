"""A run's own file, loaded again as it was: to prove its resumes, to see what can be observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .api import as_it_was, compile, device, operations
from .registered import probe_rows

if TYPE_CHECKING:
    from .compile.probes import Probe
    from .runtime.runs import Run
    from .runtime.verification import Verified


def verify(run: Run, *, steps: int | None = None, threads: int | None = None) -> Verified:
    """Prove that resumes of a run are exact, by its own file; see runtime.verification."""
    from .proving import verify as proved

    own = as_it_was(run, None, None)
    named = device(run.manifest["device"]["name"], own.registry)
    return proved(run, own, named, compile, threads=threads, steps=steps)


def probes(run: Run) -> tuple[list[Probe], list[str]]:
    """Every diagnostic number that a run has, and the names of those that it samples."""
    from .compile.observers import probes_of, selected
    from .compile.phases import Phases
    from .compile.traces import trace_experiment

    own = as_it_was(run, None, None)
    ops = operations(own.registry)
    traces = trace_experiment(own.experiment, own.evaluator, ops, own.loaders, Phases())
    found = probes_of(
        own.experiment, own.evaluator, ops, traces.stages, lambda: probe_rows(own.registry)
    )
    told = (run.status or {}).get("diagnostics", {})
    globs = told.get("select", own.experiment.run.diagnostics.select)
    return found, [probe.name for probe in selected(found, globs)]
