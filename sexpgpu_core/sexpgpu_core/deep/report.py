"""All checks of one file: a row each, and diagnostics of those that fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..device import Device
from ..diagnostics import Diagnostic, diagnostic
from ..experiment.declarations import DiagnosticsChoice, Experiment
from ..ir import Operations
from ..records import NamedTuple
from .checks import CHECKS, FAILS
from .shrink import shrunk
from .trial import Trial


class Row(NamedTuple):
    """One check. `verdict`: holds, fails or not applicable; `told`: the numbers, or why not."""

    name: str
    what: str
    verdict: str
    told: str
    seconds: float


class Examined(NamedTuple):
    """`sets`: knobs that made the copy small."""

    rows: tuple[Row, ...]
    diagnostics: list[Diagnostic]
    sets: Mapping[str, str]


def examined(
    load: Callable[[Mapping[str, str]], Any],
    device: Device,
    operations: Callable[[Any], Operations],
    fixed: Iterable[str] = (),
    threads: int = 2,
) -> Examined:
    """Tries every promise on a small copy. `load`: the file with knobs set; `fixed`: knobs that
    were chosen and stay. Raises what loading and compiling raise."""

    def loaded(sets: Mapping[str, str]) -> Any:
        found = load(sets)
        return found._replace(experiment=_plain(found.experiment))

    known = operations(load({}).registry)
    copy = shrunk(loaded, known, frozenset(fixed))
    said = list(copy.loaded.evaluator.diagnostics)
    trial = Trial(copy, device, known, threads)
    rows, found = [], []
    try:
        for name, what, check, code in CHECKS:
            begun = time.perf_counter()
            seen = check(trial, said)
            took = round(time.perf_counter() - begun, 3)
            rows.append(Row(name, what, seen.verdict, seen.told, took))
            if seen.verdict == FAILS:
                span = seen.span or trial.experiment.objective.span
                found.append(diagnostic(code, f"{what}: {seen.told}", span=span, check=name))
    finally:
        trial.close()
    return Examined(tuple(rows), found, copy.sets)


def _plain(experiment: Experiment) -> Experiment:
    """In f32, or f64 where the run is, the whole batch at once, nothing sampled."""
    full, plain = experiment.run.full, DiagnosticsChoice()
    run = experiment.run._replace(precision=full, microbatches=1, diagnostics=plain)
    loaders = {
        name: loader._replace(
            stages={
                n: stage._replace(precision=None, microbatches=None)
                for n, stage in loader.stages.items()
            }
        )
        for name, loader in experiment.loaders.items()
    }
    return experiment._replace(run=run, loaders=loaders)
