"""The body of a `defdiagnostic` to a graph: inputs by what it asks for, result "value"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import (
    Function,
    String,
    Value,
    first_value,
    keyword,
    make_list,
)
from ..experiment.declarations import DiagnosticDeclaration, Experiment
from ..ir.graph import Graph
from ..ir.operation import Operations
from ..ir.types import Type
from ..records import NamedTuple
from .faults import describe
from .host import host
from .tensor import Tensor
from .trace import optimizer_context
from .traced import Traced
from .tracer import Tracer

STATE = "state:"
"""Before the name of an optimizer state, in the name of its input."""


class ProbeBody(NamedTuple):
    """Inputs of `graph` are named param, grad, update, new, state:NAME, loss, grad-norm, output,
    and step scalars; its result is "value"."""

    graph: Graph
    scalars: Mapping[str, Any]


class Subject:
    """What `param-path` answers while a body is traced; `path` is None where there is none."""

    def __init__(self, path: str | None) -> None:
        self.path = path

    def asked_path(self) -> str:
        if self.path is None:
            raise problem("E-STAGE-OUTSIDE", "param-path stands where no parameter is observed")
        return self.path


def trace_probe(
    experiment: Experiment,
    evaluator: Evaluator,
    operations: Operations,
    traced: Traced,
    declared: DiagnosticDeclaration,
    types: Mapping[str, Type],
    path: str | None,
    optimizer: str | None,
) -> ProbeBody:
    """`types`: of the inputs that there are. E-METRIC where the value is no tensor."""
    context = optimizer_context(experiment, evaluator, traced)

    def work() -> ProbeBody:
        t = Tracer(operations, context, None)
        t.part, t.optimizer = "optimizer", Subject(path)
        at = host()
        at.tracer = t
        try:
            given = _arguments(t, declared, types, optimizer)
            value = first_value(declared.body.call(*given))
        finally:
            at.tracer = None
        if not isinstance(value, Tensor):
            raise problem(
                "E-METRIC",
                f"diagnostic {declared.name} is {describe(value)}, wants a tensor",
                hint="its value is a scalar, or a tensor with (:reduce ...)",
            ).locate(declared.span)
        t.builder.graph.results = {"value": t.node(value)}
        return ProbeBody(t.builder.graph, dict(t.scalars))

    found: ProbeBody = evaluator.call(Function(declared.name, work))
    return found


def _arguments(
    t: Tracer, declared: DiagnosticDeclaration, types: Mapping[str, Type], optimizer: str | None
) -> list[Value]:
    found: list[Value] = []
    for name in declared.given:
        found.append(keyword(name.upper()))
        if name == "optimizer":
            found.append(String(optimizer or ""))
        elif name == "state":
            found.append(_states(t, types))
        else:
            found.append(_input(t, name, types[name]))
    return found


def _states(t: Tracer, types: Mapping[str, Type]) -> Value:
    """A plist of the optimizer's states."""
    plist: list[Value] = []
    for name, type in types.items():
        if name.startswith(STATE):
            plist += [keyword(name[len(STATE) :].upper()), _input(t, name, type)]
    return make_list(plist)


def _input(t: Tracer, name: str, type: Type) -> Tensor:
    return t.tensor(t.builder.input(name, "parameter", type.dtype, type.shape))
