"""The diagnostic numbers of a `defdiagnostic` in a stage: its body, traced for what it matches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import DiagnosticDeclaration, Experiment
from ..ir import Graph, Operations, Value
from ..ir.ops.update import inline
from ..ir.types import Type, full_float
from ..staging.probing import STATE, ProbeBody, trace_probe
from ..staging.scopes import join
from ..staging.selectors import glob_pattern
from ..step.observe import Observer
from ..step.updates import groups_due
from .probes import Probe
from .stages import StageTrace


def declared(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    stage: StageTrace,
    of: DiagnosticDeclaration,
) -> list[Probe]:
    """The numbers of a `defdiagnostic` in a stage; the first one's body is traced now, so that
    its mistakes are found though nothing selects it."""
    known: dict[str, ProbeBody] = {}
    found = []
    for path, types in _subjects(of, stage):

        def body(path: str = path, types: Mapping[str, Type] = types) -> ProbeBody:
            if path not in known:
                group = stage.optimization.group_of.get(path)
                optimizer = None if group is None else stage.optimization.groups[group].name
                at = path if of.on == "parameter" else None
                known[path] = trace_probe(
                    experiment, evaluator, operations, stage.traced, of, types, at, optimizer
                )
            return known[path]

        watch = {f"output:{path}": stage.traced.watched.outputs[path]} if of.on == "scope" else {}
        pieces = partial(_bodies, body, of.on, path)
        name = join(of.name, path)
        scalars = partial(_scalars, body)
        found.append(Probe(name, of.reduce, "", watch, pieces, None, scalars))
    if found:
        found[0].scalars()
    return found


def _scalars(body: Callable[[], ProbeBody]) -> Mapping[str, Any]:
    return body().scalars


def _subjects(
    of: DiagnosticDeclaration, stage: StageTrace
) -> Iterator[tuple[str, Mapping[str, Type]]]:
    """What the declaration is a number of, and the types that its body sees."""
    scalar = Type(full_float(stage.precision), ())
    if of.on == "step":
        yield "", {"loss": scalar, "grad-norm": scalar}
    elif of.on == "scope":
        pattern = glob_pattern(of.scope or "")
        for path, value in stage.traced.watched.outputs.items():
            if pattern.match(path):
                yield path, {"output": value.type}
    else:
        for path, update in groups_due(stage.optimization).items():
            parameter = stage.traced.parameters[path]
            if of.selector is None or of.selector.matches(parameter, stage.traced.stage):
                types = dict.fromkeys(("param", "grad", "update", "new"), parameter.type)
                yield path, {**types, **{STATE + s.name: s.type for s in update.states}}


def _bodies(body: Callable[[], ProbeBody], on: str, path: str, observer: Observer) -> list[Value]:
    graph = body().graph
    if on == "scope":
        each = [{"output": v} for v in observer.watched(f"output:{path}")]
        return [_inlined(observer, graph, path, given) for given in each]
    return [_inlined(observer, graph, path, {})]


def _inlined(observer: Observer, graph: Graph, path: str, given: Mapping[str, Value]) -> Value:
    operands = dict(given)
    for node in graph.inputs():
        name, (dtype, shape) = node.get("name"), node.types[0]
        if node.get("kind") == "scalar":
            operands[name] = observer.b.input(name, "scalar", dtype, shape)
        elif name not in operands:
            operands[name] = _as(observer, _asked(observer, name, path), dtype)
    return inline(observer.b, graph, operands, placed=True)["value"]


def _as(observer: Observer, value: Value, dtype: str) -> Value:
    return value if value.dtype == dtype else observer.b("cast", value, dtype=dtype)


def _asked(observer: Observer, name: str, path: str) -> Value:
    if name.startswith(STATE):
        return observer.state(path, name[len(STATE) :])
    return ASKED[name](observer, path)


ASKED: dict[str, Callable[[Observer, str], Value]] = {
    "param": Observer.parameter,
    "grad": Observer.gradient,
    "update": Observer.update,
    "new": Observer.new,
    "loss": lambda o, _: o.loss(),
    "grad-norm": lambda o, _: o.norm(),
}
