"""The observers of an experiment: the numbers that are selected, as one program a stage (45.9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..diagnostics import Diagnostic, Problem, Problems, diagnostic, nearest, problem
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import DiagnosticDeclaration, Experiment
from ..ir import Graph, Operations, Value
from ..records import NamedTuple
from ..runtime.job import ProbeSpec
from ..staging.selectors import glob_pattern
from ..staging.traced import Looped
from ..step.observe import Observer
from ..step.probes import reduced
from .probe_bodies import declared
from .probes import Probe, Row, available, hidden
from .stages import StageTrace


class Sampled(NamedTuple):
    """What a stage's sampled steps give. `graph`: None where all is of the host; `scalars`: trees
    that bodies of the file read."""

    graph: Graph | None
    probes: tuple[ProbeSpec, ...]
    scalars: Mapping[str, Any]


def sampling_of(experiment: Experiment, globs: Sequence[str]) -> Experiment:
    """The experiment with another selection."""
    chosen = experiment.run.diagnostics._replace(select=tuple(globs))
    return experiment._replace(run=experiment.run._replace(diagnostics=chosen))


def observe(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    stages: Mapping[str, StageTrace],
    rows: Callable[[], Sequence[Row]],
) -> dict[str, Sampled]:
    """By stage, where something is selected. E-SERIES for a glob that matches nothing in any."""
    globs = experiment.run.diagnostics.select
    own = {k: _declared(experiment, evaluator, operations, s) for k, s in stages.items()}
    if not globs:
        return {}
    every = {
        key: _distinct([*available(s, rows()), *own[key]], experiment) for key, s in stages.items()
    }
    names = list(dict.fromkeys(p.name for probes in every.values() for p in probes))
    shut = {n: where for s in stages.values() for n, where in hidden(s, rows()).items()}
    check_globs(names, globs, experiment.run.span, shut)
    for warning in _unsampled(shut, globs, experiment.run.span):
        evaluator.warn(warning)
    found = {}
    for key, probes in every.items():
        chosen = selected(probes, globs)
        if chosen:
            found[key] = _sampled(stages[key], operations, chosen)
    return found


def probes_of(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    stages: Mapping[str, StageTrace],
    rows: Callable[[], Sequence[Row]],
) -> list[Probe]:
    """Every number that there is, once a name, in order."""
    found: dict[str, Probe] = {}
    for stage in stages.values():
        own = _declared(experiment, evaluator, operations, stage)
        for probe in _distinct([*available(stage, rows()), *own], experiment):
            found.setdefault(probe.name, probe)
    return list(found.values())


def _declared(
    experiment: Experiment, evaluator: Evaluator, operations: Operations, stage: StageTrace
) -> list[Probe]:
    """Of every `defdiagnostic`; Problems with the mistakes of all, E-GROUP-EMPTY among them."""
    found: list[Probe] = []
    wrong: list[Diagnostic] = []
    for of in experiment.diagnostics.values():
        try:
            probes = declared(experiment, evaluator, operations, stage, of)
        except Problem as error:
            wrong.append(error.locate(of.span).diagnostic)
            continue
        found += probes
        if not probes:
            wrong.append(_empty(of, stage))
    if wrong:
        raise Problems(wrong)
    return found


def _empty(of: DiagnosticDeclaration, stage: StageTrace) -> Diagnostic:
    if of.on == "scope":
        known, shut = list(stage.traced.watched.outputs), stage.traced.watched.hidden
        what, hint = f"the scope {of.scope}", "scopes: " + " ".join(known[:8])
        for scope, builtin in shut.items():
            if glob_pattern(of.scope or "").match(scope):
                what, hint = f"{_told(scope)} is in the function of {builtin} and", OUT
    else:
        what = of.selector.text() if of.selector is not None else "any parameter"
        hint = "sexpgpu check --json lists the parameters' groups"
    return diagnostic(
        "E-GROUP-EMPTY", f"diagnostic {of.name}: {what} matches nothing", span=of.span, hint=hint
    )


def _distinct(probes: Sequence[Probe], experiment: Experiment) -> list[Probe]:
    """E-METRIC where two numbers have one name."""
    names = [probe.name for probe in probes]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        own = [d for d in experiment.diagnostics.values() if f"{twice}/".startswith(f"{d.name}/")]
        raise problem(
            "E-METRIC",
            f'two diagnostics are called "{twice}"',
            hint="give the file's another name: those of every run are in docs diagnostics",
            name=twice,
        ).locate(own[0].span if own else experiment.run.span)
    return list(probes)


def _sampled(stage: StageTrace, operations: Operations, chosen: Sequence[Probe]) -> Sampled:
    graph, specs = observer_graph(stage, operations, chosen)
    scalars: dict[str, Any] = {}
    for probe in chosen:
        scalars.update(probe.scalars())
    return Sampled(graph if graph.results else None, specs, scalars)


def selected(probes: Sequence[Probe], globs: Sequence[str]) -> list[Probe]:
    """Those that the last glob that matches does not take away."""
    chosen = _chosen(globs)
    return [probe for probe in probes if chosen(probe.name)]


def _chosen(globs: Sequence[str]) -> Callable[[str], bool]:
    patterns = [(glob_pattern(g.lstrip("!")), not g.startswith("!")) for g in globs]

    def chosen(name: str) -> bool:
        said = [keeps for pattern, keeps in patterns if pattern.match(name)]
        return bool(said) and said[-1]

    return chosen


Shut = Mapping[str, "tuple[str, str]"]
"""Numbers that cannot be sampled: by name, the scope and the builtin whose function it is in."""
NOWHERE: Shut = MappingProxyType({})
OUT = "return the value from the function, and name it by (diagnostic ...) outside of it"


def _unsampled(shut: Shut, globs: Sequence[str], span: Any) -> list[Diagnostic]:
    """W-DIAGNOSTIC-HIDDEN for each scope of which a number is chosen."""
    chosen = _chosen(globs)
    scopes: dict[tuple[str, str], list[str]] = {}
    for name, where in shut.items():
        if chosen(name):
            scopes.setdefault(where, []).append(name)
    return [
        diagnostic(
            "W-DIAGNOSTIC-HIDDEN",
            f"{_told(scope)} is in the function of {what}: {', '.join(names)} cannot be sampled",
            span=span,
            hint=OUT,
            scope=scope,
            builtin=what,
        )
        for (scope, what), names in scopes.items()
    ]


def _told(scope: str) -> str:
    return f"the scope {scope}" if scope else "the root's scope"


def check_globs(
    names: Sequence[str], globs: Sequence[str], span: Any = None, shut: Shut = NOWHERE
) -> None:
    """E-SERIES for a glob that matches no number."""
    for glob in globs:
        matches = glob_pattern(glob.lstrip("!")).match
        if not any(map(matches, names)):
            inside = next((where for name, where in shut.items() if matches(name)), None)
            if inside is not None and glob.startswith("!"):
                continue  # it takes away what is not sampled anyway
            if inside is not None:
                told = f'"{glob}" cannot be sampled: {_told(inside[0])} is in the function of '
                raise problem("E-SERIES", told + inside[1], hint=OUT, series=glob).locate(span)
            near = nearest(glob, names)
            hint = f'did you mean "{near}"?' if near else "there are " + " ".join(names[:8])
            raise problem(
                "E-SERIES",
                f'no diagnostic number is named "{glob}"',
                hint=hint,
                series=glob,
                written=glob,
                nearest=near,
            ).locate(span)


def observer_graph(
    stage: StageTrace, operations: Operations, probes: Sequence[Probe]
) -> tuple[Graph, tuple[ProbeSpec, ...]]:
    """The graph of the numbers that a device makes, and what to make of its results."""
    watch: dict[str, Value | Looped] = {}
    for probe in probes:
        watch.update(probe.watch)
    observer = Observer(
        stage.traced,
        stage.optimization,
        operations,
        watch,
        microbatches=stage.microbatches,
        scaled=stage.precision == "f16",
    )
    results: dict[str, Value] = {}
    specs = []
    for probe in probes:
        pieces: list[Value] = []
        if probe.pieces is not None:
            pieces = reduced(observer.b, probe.pieces(observer), probe.reduce)
            results.update({f"probe:{probe.name}:{i}": v for i, v in enumerate(pieces)})
        measure = probe.measure() if probe.measure is not None else None
        specs.append(ProbeSpec(probe.name, probe.reduce, probe.unit, len(pieces), measure))
    return observer.graph(results), tuple(specs)
