"""The Python API: load, check, compile and run an experiment; the graph and forms of a file.

Every function takes a path or a `spans.Source` and a selection (variant, sets, steps, seed), and
raises `Problem` or `Problems` for a user's mistakes, but for `check`, which reports them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config import Settings, settings
from .data.files import REACH, fingerprint, unasked
from .data.loader import Loader
from .diagnostics import PHASES, Diagnostic, Problem, Problems, add_codes, problem
from .diagnostics.allow import allowed
from .diagnostics.places import ordered
from .lisp_files import base_of, read_source, read_text
from .plugins import installed
from .records import NamedTuple
from .registered import (
    Modules,
    PluginOperations,
    SourceKinds,
    Tokenizers,
    encodings,
    loaders_of,
    probe_rows,
    statistics,
)
from .registry import BUILTIN, Registry
from .spans import Source

if TYPE_CHECKING:
    from .compile.pipeline import Compiled
    from .device import Device
    from .evaluator.evaluator import Evaluator
    from .experiment.declarations import Experiment
    from .runtime.run import Summary
    from .runtime.runs import Run
    from .sweeps import Chosen, Points

Sets = Iterable[tuple[str, str]]
"""Knobs and their Lisp texts, in order: what -s gives."""


class Loaded(NamedTuple):
    """A file that was read and evaluated."""

    experiment: Experiment
    evaluator: Evaluator
    loaders: Mapping[str, Loader]
    registry: Registry


class CheckReport(NamedTuple):
    """What `check` found. `reached`: the last phase; `complete`: no later phase was kept back."""

    diagnostics: list[Diagnostic]
    reached: str
    complete: bool
    summary: dict[str, Any] | None
    selection: dict[str, Any] | None
    output: str


def load(
    file: str | Path | Source,
    *,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | Chosen | None = None,
    registry: Registry | None = None,
    limits: Mapping[str, int] | None = None,
    kept: Mapping[str, str] = {},
    diagnostics: Iterable[str] = (),
) -> Loaded:
    """Read and evaluate a run file; nothing is traced yet.

    `point`: SWEEP/POINT, or one that was found. It brings its sweep's variant and its seed.
    `limits`: what [limits] of sexpgpu.toml may hold, and does if they are not given. `kept`: texts
    of modules by name, instead of what is installed or beside the file. `diagnostics`: globs of
    numbers that are sampled beside those that the file selects.
    """
    from .evaluator.machine import Limits
    from .staging.declare import declare

    rows = registry if registry is not None else plugins()
    sets, here = list(sets), settings()
    _once(sets)
    source = file if isinstance(file, Source) else read_source(Path(file))
    if isinstance(point, str):
        chosen_by: dict[str, Any] = {"sets": sets, "steps": steps, "seed": seed, "kept": kept}
        found = sweep(source, point, variant=variant, **chosen_by)
        point = found.chosen(point)
    if point is not None:
        variant, seed = point.variant, point.seed
    base = base_of(source)
    experiment, evaluator = declare(
        source,
        modules=Modules(rows, kept),
        read_file=lambda path: kept[path] if path in kept else read_text(Path(path)),
        variant=variant,
        sets=dict(sets),
        steps=steps,
        seed=seed,
        point=(point.name, point.values) if point is not None else None,
        limits=Limits(**(here.limits if limits is None else limits)),
        **_reading(rows, base),
    )
    chosen = experiment.run.diagnostics.joined(diagnostics)
    experiment = experiment._replace(run=experiment.run._replace(diagnostics=chosen))
    REACH.cache_gb = here.data.get("cache_gb", 50)
    loaders = loaders_of(experiment, evaluator, base, rows, here.data)
    return Loaded(experiment, evaluator, loaders, rows)


def sweep(source: Source, name: str, *, variant: str | None = None, **selection: Any) -> Points:
    """The points of a declared sweep (its name, or SWEEP/POINT); `selection` as `load` takes it."""
    from .sweeps import declared, points

    loaded = load(source, variant=variant, **selection)
    found = declared(loaded.experiment, name.partition("/")[0])
    own = found.options.get("variant")
    if own is not None and variant is None:
        variant = own
        loaded = load(source, variant=own, **selection)
    return points(found, variant, loaded.evaluator, loaded.experiment.run.seed)


def identity(loaded: Loaded) -> str:
    """The experiment id: what a run of it would have. Traces; compiles nothing."""
    from .compile.phases import Phases
    from .compile.traces import trace_experiment

    of = operations(loaded.registry)
    traces = trace_experiment(loaded.experiment, loaded.evaluator, of, loaded.loaders, Phases())
    return traces.identity


def _once(sets: list[tuple[str, str]]) -> None:
    """E-KNOB-TWICE where one call sets a knob twice."""
    names = [name for name, _ in sets]
    for name in names:
        if names.count(name) > 1:
            raise problem("E-KNOB-TWICE", f"--set gives {name} twice", knob=name)


def plugins(of: Settings | None = None) -> Registry:
    """What is installed; codes of plug-ins join the catalogue."""
    found = installed(of or settings())
    add_codes(found.codes())
    return found


def device(name: str, registry: Registry | None = None) -> Device:
    """A device by name; opens nothing. E-DEVICE-UNKNOWN with the nearest."""
    rows = registry if registry is not None else plugins()
    made: Device = rows.load("devices", name)({})
    return made


def compile(loaded: Loaded, device: Device, watch: Any = None) -> Compiled:
    """Trace, differentiate, fuse and plan every stage and pass for a device. Opens nothing.

    `watch`: told each program, pass of the compiler and the graph after it.
    """
    from .compile.pipeline import compile_experiment

    _check_precision(loaded, device)
    return compile_experiment(
        loaded.experiment,
        loaded.evaluator,
        operations=operations(loaded.registry),
        device=device,
        loaders=loaded.loaders,
        watch=watch,
        rows=partial(probe_rows, loaded.registry),
    )


def _check_precision(loaded: Loaded, device: Device) -> None:
    """E-DEVICE-OPERATION of a `:precision` that is none of the dtypes that a device computes in."""
    run, row = loaded.experiment.run, loaded.registry.get("devices", device.name)
    asked = {run.precision: run.span}
    for loader in loaded.experiment.loaders.values():
        for name, stage in loader.stages.items():
            asked.setdefault(stage.precision or run.precision, loader.place(name, ("precision",)))
    for precision, span in asked.items():
        if row is not None and precision not in row.dtypes:
            told = f"{device.name} computes in {' '.join(row.dtypes)}, not in {precision}"
            hint = "reference computes in every dtype: --device reference"
            raise problem("E-DEVICE-OPERATION", told, hint=hint).locate(span)


def compile_run(loaded: Loaded, device: Device) -> Compiled:
    """What a run is made of. Its outputs are checked as well: one that is wrong is told now, and
    not when the weights are trained."""
    compiled = compile(loaded, device)
    if loaded.experiment.outputs:
        from .compile.outputs import check_outputs

        of = operations(loaded.registry)
        check_outputs(compiled.traces, loaded.evaluator, of, loaded.loaders)
    return compiled


def operations(registry: Registry) -> Mapping[str, Any]:
    """Core's operations and those of plug-ins, each loaded when it is first asked for."""
    from .ir.ops import OPERATIONS

    return PluginOperations(OPERATIONS, registry) if registry.names("operations") else OPERATIONS


def check(
    file: str | Path | Source,
    *,
    device: str | None = None,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | None = None,
    asks: bool = False,
    until: str | None = None,
) -> CheckReport:
    """All that can be known without training: every diagnostic, and a summary if it compiles.
    `asks`: servers too, for data at a URL that was not read yet. `until`: no part after that phase.

    A file with (provide ...) and no defrun is a module, and is only evaluated.
    """
    from .staging.scan import is_library, scan

    rows, sets = plugins(), list(sets)
    evaluator: Any = None
    source: Source | None = None
    try:
        source = file if isinstance(file, Source) else read_source(Path(file))
        if is_library(scan(source)):
            return _report(library(source, rows), source, "evaluator")
        chosen = {"variant": variant, "sets": sets, "steps": steps, "seed": seed, "point": point}
        with unasked(not asks):
            loaded = load(source, **chosen, registry=rows)  # type: ignore[arg-type]
            evaluator = loaded.evaluator
            summary = _checked(loaded, device_for(loaded, device), until)
        if loaded.experiment.sweeps:
            from .sweeps.checks import check_sweeps

            check_sweeps(loaded.experiment, evaluator)
    except (Problem, Problems) as error:
        found = [error.diagnostic] if isinstance(error, Problem) else error.diagnostics
        evaluator = evaluator or getattr(error, "evaluator", None)
        return _stopped(found, evaluator, source)
    return _report(evaluator, source, until or "device", of=(summary, loaded.experiment.chosen()))


def _report(evaluator: Any, source: Source, phase: str, *, of: Any = (None, None)) -> CheckReport:
    """Of a file without an error. `of`: the summary, and what was chosen."""
    warnings = ordered(allowed(evaluator.diagnostics, source, complete=True))
    return CheckReport(warnings, phase, True, of[0], of[1], "".join(evaluator.output))


def _checked(loaded: Loaded, device: Device, until: str | None) -> dict[str, Any] | None:
    """The summary; what is compiled with a plug-in's operations or device is not remembered, since
    its code is not watched."""
    from .compile.checked import check_experiment
    from .compile.forecast import known

    _check_precision(loaded, device)
    hooks = ("devices", "operations")
    rows, threads = loaded.registry, settings().threads
    foreign = any(rows.owner(h, n) not in BUILTIN for h in hooks for n in rows.names(h))
    return check_experiment(
        loaded.experiment,
        loaded.evaluator,
        operations=operations(rows),
        device=device,
        loaders=loaded.loaders,
        rows=partial(probe_rows, rows),
        remember=not foreign,
        speed=known(device.name, threads),
        until=until,
    )


def _stopped(found: list[Diagnostic], evaluator: Any, source: Source | None) -> CheckReport:
    """A report of a file with errors: the last phase that was reached is that of the errors."""
    warnings = evaluator.diagnostics if evaluator is not None else []
    if source is not None:
        warnings = allowed(warnings, source, complete=False)
    phases = [PHASES.index(d.phase) for d in found if d.is_error and d.phase in PHASES]
    reached = PHASES[max(phases)] if phases else "evaluator"
    output = "".join(evaluator.output) if evaluator is not None else ""
    return CheckReport(ordered([*found, *warnings]), reached, False, None, None, output)


def _reading(rows: Registry, base: Path) -> dict[str, Any]:
    """What reads the data that a text names."""
    return {
        "sources": SourceKinds(rows),
        "tokenizers": Tokenizers(rows),
        "base": str(base),
        "hash_files": fingerprint,
        "statistic": statistics(rows, base),
        "encodings": encodings(rows, base),
    }


def library(source: Source, registry: Registry | None = None) -> Evaluator:
    """The evaluator of a file that is no run: a module, or definitions and forms alone."""
    from .evaluator.machine import Limits
    from .staging.library import library as evaluated

    rows = registry if registry is not None else plugins()
    return evaluated(
        source,
        modules=Modules(rows),
        read_file=lambda path: read_text(Path(path)),
        limits=Limits(**settings().limits),
        **_reading(rows, base_of(source)),
    )


def run(
    file: str | Path | Source,
    *,
    variant: str | None = None,
    sets: Sets = (),
    steps: int | None = None,
    seed: int | None = None,
    point: str | None = None,
    device: str | None = None,
    threads: int | None = None,
    name: str | None = None,
    resume: str | None = None,
    resume_changed: bool = False,
    resume_params: Iterable[str] = (),
    origin: str | None = None,
    if_exists: str = "run",
    deadline: float | None = None,
    dry: bool = False,
    diagnostics: Iterable[str] = (),
    store: str | None = None,
    sinks: Iterable[str] = (),
    kept: Mapping[str, str] = {},
    runs_root: str | Path = "runs",
    progress: Any = None,
) -> Summary:
    """Train a file to its end; see load, runtime.run and training.Asked.

    `progress`: has began(folder), event(dict), warnings(list).
    """
    from .reloaded import differing
    from .runtime.signals import leaving
    from .training import Asked, train

    selection: dict[str, Any] = {"variant": variant, "sets": sets, "steps": steps, "seed": seed}
    with leaving():
        loaded = load(file, **selection, point=point, kept=kept, diagnostics=diagnostics)
    words = partial(differing, load=load, loaded=loaded, operations=operations)
    again = (resume, resume_changed, tuple(resume_params), origin, if_exists)
    keep = (threads, name, *again, deadline, dry, store)
    return train(
        loaded,
        device_for(loaded, device),
        compile_run,
        operations,
        asked=Asked(*keep, tuple(sinks), words),
        root=Path(runs_root),
        progress=progress,
    )


def as_it_was(run: Run, file: str | Path | None, seed: int | None) -> Loaded:
    """The file of a run with what was chosen for it; see reloaded."""
    from . import reloaded

    own: Loaded = reloaded.as_it_was(load, run, file, seed)
    return own


def device_of(registry: Registry, name: str | None) -> Device:
    """A device by name; of none `cpu` where it is installed, else `reference`."""
    if name is None:
        name = "cpu" if registry.get("devices", "cpu") is not None else "reference"
    return device(name, registry)


def device_for(loaded: Loaded, name: str | None) -> Device:
    """The device that is asked for, else the one that the file hints at. E-DEVICE-UNKNOWN."""
    try:
        return device_of(loaded.registry, name or loaded.experiment.run.device)
    except Problem as unknown:
        raise unknown.locate(None if name else loaded.experiment.run.span) from None
