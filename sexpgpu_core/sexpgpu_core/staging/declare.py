"""A run file to its frozen declarations: all of it is evaluated, all that is wrong is said."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..diagnostics import (
    Change,
    Diagnostic,
    Edit,
    Problem,
    Problems,
    diagnostic,
    nearest,
    places_of,
    problem,
)
from ..evaluator.definitions import core_symbol
from ..evaluator.evaluator import Evaluator, Limits
from ..evaluator.values import Function, Value, make_list
from ..experiment.declarations import Experiment, ModuleRead, RunDeclaration
from ..spans import Source, Span
from . import builtins as _builtins
from . import forms as _forms
from .cadence import not_kept
from .collector import Collector, HashFiles, Statistic
from .contract import FUNCTIONS, SMALLEST, check_order, missing
from .curriculum import default_stage, series_read
from .forms.states import set_state
from .host import Host
from .scan import Scan, chosen_forms, end_span, mentioned, scan
from .selection import choices_checked, selection, unknown_knob

DEFINED = (_builtins, _forms)
"""Imported for what they define."""


def declare(
    source: Source,
    *,
    modules: Any = None,
    read_file: Callable[[str], str] | None = None,
    variant: str | None = None,
    sets: Mapping[str, str] = {},
    steps: int | None = None,
    seed: int | None = None,
    sources: Mapping[str, Any] = {},
    tokenizers: Mapping[str, Any] = {},
    point: tuple[str, Mapping[str, str]] | None = None,
    base: str = "",
    limits: Limits | None = None,
    hash_files: HashFiles | None = None,
    statistic: Statistic | None = None,
    encodings: Callable[[Any], Any] | None = None,
) -> tuple[Experiment, Evaluator]:
    """The experiment of a text, and the evaluator that its functions belong to.

    `modules`: name -> ModuleText; `sources`: kind -> SourceEntry; `tokenizers`: name ->
    data.kinds.TokenizerKind; `base`: the folder that paths of sources start from; `point`:
    SWEEP/POINT and its knobs -> Lisp text; `hash_files`: what `file-tensor` is named by;
    `statistic`: what `stage-stat` is; `encodings`: what encodes by a
    tokenizer alone. Warnings are in `evaluator.diagnostics`. Raises Problems
    with everything found, in source order.
    """
    found: list[Diagnostic] = []
    scanned = scan(source)
    collector = Collector(sources, {**(point[1] if point is not None else {}), **sets})
    collector.base, collector.tokenizers = base, tokenizers
    collector.hash_files, collector.statistic = hash_files, statistic
    collector.encodings = encodings
    collector.lambda_lists = dict(scanned.lambda_lists)
    evaluator = Evaluator(modules=modules, read_file=read_file, limits=limits or Limits())
    evaluator.host = Host(collector)
    collector.main = source.name
    define_state_setter(evaluator)
    if variant is not None:
        try:
            collector.variant_forms = chosen_forms(scanned, variant)
        except Problem as error:
            if variant not in scanned.variants:  # else its check says it
                found.append(error.diagnostic)
    if load_text(evaluator, source, found):
        found += _checks(source, scanned, collector, evaluator, sets, bool(found))
    raise_found(found, evaluator)
    experiment = _frozen(source, collector, evaluator, steps, seed)
    chosen = selection(variant, point, sets, experiment.knobs, steps, seed)
    experiment = experiment._replace(selection=chosen)
    found += _experiment_checks(experiment)
    raise_found(found, evaluator)
    _warnings(scanned, collector, evaluator, experiment)
    return experiment, evaluator


def load_text(evaluator: Evaluator, source: Source, found: list[Diagnostic]) -> bool:
    """Evaluates the file; False where it could not even be read."""
    try:
        evaluator.load(source)
    except Problems as errors:
        found += errors.diagnostics
    except Problem as error:
        found.append(error.diagnostic)
    # A module of layers may take names of core's: that is its own affair.
    evaluator.diagnostics[:] = [
        d for d in evaluator.diagnostics
        if d.code != "W-SHADOW" or d.span is None or d.span.source is source
    ]  # fmt: skip
    return not any(d.code.startswith("E-READ") for d in found)


def raise_found(found: list[Diagnostic], evaluator: Evaluator | None = None) -> None:
    """Raise what was found, with the evaluator, which has the warnings and what was printed."""
    if any(d.is_error for d in found):
        errors = Problems(sorted(found, key=_place))
        errors.evaluator = evaluator  # type: ignore[attr-defined]
        raise errors


def _place(d: Diagnostic) -> tuple[str, int]:
    return (d.span.source.name, d.span.start) if d.span is not None else ("", -1)


def define_state_setter(evaluator: Evaluator) -> None:
    """(setf (%state r) v): what an assignment to a state's variable is."""
    state = core_symbol("%STATE")
    name = make_list([core_symbol("SETF"), state])

    def setter(value: Value, reference: Value) -> Value:
        return set_state(reference, value)

    function = Function("(setf %state)", setter, "(value reference)", 2, 2, staged=True)
    evaluator.setf_cell(state, name).define(function)


# Checks


def _checks(
    source: Source,
    scanned: Scan,
    collector: Collector,
    evaluator: Evaluator,
    sets: Mapping[str, str],
    failed: bool,
) -> list[Diagnostic]:
    """What the declarations say of each other, once all are there."""
    found = check_order(scanned.entries)
    if not (failed and scanned.generates):  # a macro that failed may have made it
        found += missing(_missing(scanned, collector, evaluator), end_span(source))
    known = set(collector.knobs)
    unfinished = {e.what for e in scanned.entries if e.name == "defknob"}
    for name in sets:
        if name not in known and f"(defknob {name})" not in unfinished:
            found.append(unknown_knob(name, collector.knobs, "--set").diagnostic)
    return found + choices_checked(evaluator, scanned)


def _missing(scanned: Scan, collector: Collector, evaluator: Evaluator) -> list[str]:
    written = {entry.name for entry in scanned.entries}
    there = {
        "defloader": bool(collector.loaders),
        "defmodel": bool(collector.models),
        "defrun": collector.run is not None,
        "objective": _function(evaluator, "objective") is not None,
        "optimizer": _function(evaluator, "optimizer") is not None,
    }
    return [name for name in SMALLEST if name not in written and not there[name]]


def _experiment_checks(experiment: Experiment) -> list[Diagnostic]:
    """Names that passes and targets use; functions that are called with nothing."""
    found: list[Diagnostic] = []
    for function in (experiment.optimizer, experiment.curriculum):
        if function is not None and function.least:
            told = f"{function.name} is called with nothing, and its lambda list wants more"
            row = diagnostic("E-CONTRACT", told, span=function.span,
                             hint=f"(defun {function.name} () ...)")  # fmt: skip
            found.append(row)
    for p in experiment.passes.values():
        if p.name == "train":
            told = "pass train and the stage that trains both report train/..."
            row = diagnostic("E-TWICE", told, span=p.span, hint="another name", written=p.name)
            found.append(row)
        if p.loader is not None or p.stage is not None:
            error = _stage_error(experiment, p.loader, p.stage or "")
            if error is not None:
                found.append(error.locate(p.span).diagnostic)
        if p.output is not None and p.output not in experiment.outputs:
            near = nearest(p.output, experiment.outputs)
            known = f"outputs: {' '.join(experiment.outputs)}" if experiment.outputs else ""
            hint = f"did you mean {near}?" if near else known or "(defoutput name (&key x) form...)"
            row = diagnostic("E-OUTPUT", f"no output {p.output}", span=p.span, hint=hint,
                             written=p.output)  # fmt: skip
            found.append(row)
    found += not_kept(experiment)
    if experiment.curriculum is None:
        try:
            default_stage(experiment)
        except Problem as error:
            loader = next(iter(experiment.loaders.values()))
            found.append(error.locate(loader.span).diagnostic)
    heads = {*experiment.passes, *(s for x in experiment.loaders.values() for s in x.stages)}
    for series, span in _series(experiment):
        head = series.split("/")[0]
        if "/" not in series or head not in heads:
            found.append(
                diagnostic(
                    "E-SERIES",
                    f'no pass or stage reports "{series}"',
                    span=span,
                    hint="a series is PASS/NAME or STAGE/NAME, with " + " ".join(sorted(heads)),
                    series=series,
                )
            )
    return found


def _series(experiment: Experiment) -> list[tuple[str, Any]]:
    """Series that targets, checkpoints and sweeps name, and where."""
    named = [(t.series, t.span) for t in experiment.targets]
    ranked = [s for s in experiment.sweeps.values() if "rank" in s.options]
    named += [(s.options["rank"][0], s.span) for s in ranked]
    best = experiment.run.checkpoint.best
    return named + ([(best[0], experiment.run.span)] if best else [])


def check_series(experiment: Experiment, reported: Mapping[str, Iterable[str]]) -> None:
    """E-SERIES for what targets, :best and curriculum name that nothing reports ("val/loss")."""
    found = (f"{name}/{metric}" for name, metrics in reported.items() for metric in metrics)
    known = list(dict.fromkeys(found))
    rows = []
    asked = series_read(experiment) if experiment.curriculum is not None else []
    for series, span in _series(experiment) + asked:
        if series not in known:
            near = nearest(series, known)
            hint = f'did you mean "{near}"?' if near else "reported: " + " ".join(known)
            row = diagnostic(
                "E-SERIES",
                f'nothing reports "{series}"',
                span=span,
                hint=hint,
                series=series,
                written=series,
                nearest=near,
            )
            rows.append(row)
    raise_found(rows)


def _stage_error(experiment: Experiment, loader: str | None, stage: str) -> Problem | None:
    loaders = experiment.loaders
    if loader is not None and loader not in loaders:
        near = nearest(loader, loaders)
        hint = f"did you mean {near}?" if near else "loaders: " + " ".join(loaders)
        return problem("E-LOADER-STAGE", f"no loader {loader}", hint=hint, written=loader,
                       nearest=near)  # fmt: skip
    stages = [s for n, x in loaders.items() if loader in (None, n) for s in x.stages]
    if stage in stages:
        return None
    near = nearest(stage, stages)
    hint = f"did you mean :{near}?" if near else "stages: " + " ".join(f":{s}" for s in stages)
    return problem("E-LOADER-STAGE", f"no stage :{stage}", hint=hint, written=f":{stage}",
                   nearest=f":{near}" if near else None)  # fmt: skip


def _deletion(name: str, span: Any) -> Edit | None:
    """An edit that deletes a definition whose name stands nowhere else."""
    if span.__class__ is not Span or len(places_of(span.source.text, name)) != 1:
        return None
    return Edit(f"delete {name}", (Change(span, ""),))


def _warnings(
    scanned: Scan, collector: Collector, evaluator: Evaluator, experiment: Experiment
) -> None:
    """W-KNOB-UNUSED, W-EVAL-TRAIN."""
    names = mentioned(scanned)
    for name, knob in collector.knobs.items():
        if ":" not in name and name not in names:
            evaluator.warn(
                diagnostic(
                    "W-KNOB-UNUSED",
                    f"nothing reads the knob {name}",
                    span=knob.span,
                    hint="read it where its value should count, or delete it",
                    edit=_deletion(name, knob.span),
                    knob=name,
                )
            )
    for p in experiment.passes.values():
        if p.stage == "train" and experiment.curriculum is None:
            evaluator.warn(
                diagnostic(
                    "W-EVAL-TRAIN", f"pass {p.name} reads the stage that trains", span=p.span
                )
            )


# Freezing


def _function(evaluator: Evaluator, name: str) -> Function | None:
    """The function of a name in the file's own module."""
    symbol = evaluator.module.symbols.get(name.upper())
    if symbol is None or symbol not in evaluator.cells:
        return None
    return evaluator.cells[symbol].function


def _frozen(
    source: Source,
    collector: Collector,
    evaluator: Evaluator,
    steps: int | None,
    seed: int | None,
) -> Experiment:
    functions = {name: _function(evaluator, name) for name in FUNCTIONS}
    run: RunDeclaration = collector.run
    if steps is not None:
        run = run._replace(steps=steps, epochs=None, until=None)
    if seed is not None:
        run = run._replace(seed=seed)
    passes = {name: _with_loader(p, collector) for name, p in collector.passes.items()}
    return Experiment(
        path=source.name,
        text=source.text,
        sha256=_sha256(source.text),
        knobs=collector.knobs,
        variants=collector.variants,
        sweeps=collector.sweeps,
        loaders=collector.loaders,
        models=collector.models,
        passes=passes,
        targets=tuple(collector.targets),
        outputs=collector.outputs,
        run=run,
        modules=_modules(evaluator),
        diagnostics=collector.diagnostics,
        loads=tuple(collector.loads),
        selection={},
        **functions,
    )


def _with_loader(p: Any, collector: Collector) -> Any:
    """A pass with the loader filled in where only the stage was written."""
    if p.stage is None or p.loader is not None:
        return p
    names = [n for n, loader in collector.loaders.items() if p.stage in loader.stages]
    return p._replace(loader=names[0]) if names else p


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _modules(evaluator: Evaluator) -> tuple[ModuleRead, ...]:
    """Every required text, in the order of requirement."""
    library = evaluator.library
    names = {module.path: name for name, module in library.loaded.items()}
    return tuple(
        ModuleRead(names.get(s.name, s.name), s.name, s.text, _sha256(s.text))
        for s in library.sources
    )
