"""An output to a traced graph: its fields as inputs, its tensors as results, in `:eval` mode.

A name is prepare's where prepare returns it, else the loader's raw field; what is fed is raw. An
autoregressive output takes raw fields only.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from ..diagnostics import problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import Function, MultipleValues, Value, first_value
from ..experiment.declarations import Experiment
from ..ir.graph import Value as Node
from ..ir.operation import Operations
from ..ir.scalars import text
from ..ir.types import Type
from .builtins.batch import Named
from .builtins.random import ROW
from .context import Context
from .contract import Fields
from .dependence import MIXED, NONE, BatchAxes
from .faults import describe
from .forms.outputs import Output
from .host import host
from .metrics import Cutter, check_names, report
from .program import Program
from .tensor import Tensor
from .traced import Metric, State, TracedOutput


class OutputProgram(Program):
    """One output being traced for `rows` rows of `fields`, the raw fields of a loader."""

    def __init__(
        self, experiment: Experiment, evaluator: Evaluator, operations: Operations,
        context: Context, loader: str, stage: str, fields: Mapping[str, Type], rows: int | None,
        output: Output,
    ) -> None:  # fmt: skip
        if output.state and all(own is not None for own in output.fields.values()):
            rows = _leading(output) or rows
        super().__init__(experiment, evaluator, operations, context, loader, stage, fields, rows)
        self.output = output
        self.t.fed = output.state and context.values["pass"] is None
        self.own: dict[str, Node] = {}

    def trace(self) -> TracedOutput:
        """Raises Problem or Problems."""
        found: TracedOutput = self.evaluator.call(Function(self.output.name, self._trace))
        return found

    def _trace(self) -> TracedOutput:
        at, t = host(), self.t
        at.tracer = t
        try:
            given = self._given()
            t.part, t.context = "output", t.context._replace(place="U")
            asked = Fields(dict.fromkeys(self.output.fields, True), False)
            function = self.output.function
            value = function.call(*self._arguments(function, given, asked))
            return self._read_off(value)
        finally:
            at.tracer = None

    def _given(self) -> Mapping[str, Value]:
        """What the output's names stand for: its own fields, then prepare's, then raw ones."""
        fields = self.output.fields
        own: dict[str, Value] = {
            n: self._own(n, f.type) for n, f in fields.items() if f is not None
        }
        prepared: dict[str, Value] = {}
        if len(own) < len(fields) and not self.output.autoregressive:
            self.t.part, self.t.context = "prepare", self.t.context._replace(place="P")
            prepared = self._prepared()
        return ChainMap[str, Value](own, prepared, self._raw())

    def _own(self, name: str, type: Type) -> Tensor:
        node = self.t.builder.input(name, "batch", self.t.wide(type.dtype), type.shape)
        self.own[name] = node
        return self.t.tensor(node)

    def _read_off(self, value: Value) -> TracedOutput:
        t = self.t
        tensors = self._tensors(value)
        self._refuse_steps()
        graph = t.builder.graph
        metrics = self._reported(graph.results)
        states = self._states(tensors)
        graph.results.update({f"output:{name}": node for name, node in tensors.items()})
        live = graph.live()
        read = {n.get("name") for n in graph.inputs() if n.id in live and n.get("kind") == "batch"}
        given = [(n.node.id, n.result) for n in self.own.values()]
        axes = BatchAxes(t.builder.operations, given, graph.bodies, rows=t.rows)
        along = {name: None if (a := axes.of(v)) == NONE else a for name, v in tensors.items()}
        along.update({n: along[n] if along[n] == MIXED else 0 for n in states})
        return TracedOutput(
            graph,
            self.output.name,
            self.loader,
            t.rows if any(name in self.used for name in read) else None,
            along,
            tuple(metrics),
            dict(t.parameters),
            dict(t.states),
            {name: type for name, type in self.used.items() if name in read},
            {name: node.type for name, node in self.own.items() if name in read},
            dict(t.scalars),
            t.files_read(),
            states,
        )

    def _states(self, tensors: dict[str, Node]) -> dict[str, State]:
        """States of rows by name, their next values added to `tensors`; in a pass they are kept
        there. E-OUTPUT where (:state t) is said of none."""
        t, output = self.t, self.output
        rows = {state.rows: path for path, state in t.states.items() if state.rows}
        if output.state and not rows:
            raise problem(
                "E-OUTPUT",
                f"output {output.name} reaches no state :per :row",
                hint="(defstate h (d) :init 0 :per :row) in a model is one",
                edit=output.other_state,
                output=output.name,
            ).locate(output.span)
        if not t.fed:
            follows = t.whole_rows in (None, t.rows)  # nothing follows a short batch
            kept = {n: t.proposals[p] for n, p in rows.items() if follows and p in t.proposals}
            t.builder.graph.results.update({f"next:rows:{n}": node for n, node in kept.items()})
            return {}
        for name, path in rows.items():
            if name in tensors or name in output.fields:
                raise problem(
                    "E-OUTPUT",
                    f"output {output.name} has a {name} of its own, and a state of that name",
                    hint="name it otherwise: state/... are the states",
                    output=output.name,
                ).locate(output.span)
            tensors[name] = t.node(t.read_state(path))
        return {name: t.states[path] for name, path in rows.items()}

    def _refuse_steps(self) -> None:
        """prepare knows step scalars elsewhere; an output is of no step."""
        for name in self.t.scalars:
            if name != text(ROW.tree):
                raise problem(
                    "E-CTX-KEY",
                    f"{name} is not known in an output, which prepare is traced for",
                    hint="an output is of no step: ask (ctx :mode), which is :eval there",
                    key=name,
                ).locate(self.output.span)

    def _tensors(self, value: Value) -> dict[str, Node]:
        """The result by name: the output's own for a tensor alone; E-OUTPUT."""
        if value.__class__ is MultipleValues and len(value) > 1:
            raise problem(
                "E-OUTPUT",
                f"output {self.output.name} returns {len(value)} values, wants a tensor or a batch",
                hint="(batch :image x :score y) gives several",
                output=self.output.name,
            ).locate(self.output.span)
        value = first_value(value)
        items = value.items if isinstance(value, Named) and value.kind == "batch" else None
        if items is None and isinstance(value, Tensor):
            items = {self.output.name: value}
        if not items:
            raise problem(
                "E-OUTPUT",
                f"output {self.output.name} returns {describe(value)}, wants a tensor or a batch",
                hint="(batch :image x :score y) gives several",
                output=self.output.name,
            ).locate(self.output.span)
        return {name: self.t.node(v) for name, v in items.items()}

    def _reported(self, results: dict[str, Node]) -> list[Metric]:
        check_names(self.t.metrics)
        cutter = Cutter(self.t)
        return [report(cutter, r, results, []) for r in self.t.metrics]


def _leading(output: Output) -> int | None:
    """How many rows the states of an output have whose fields all have types of their own."""
    sizes = {f.type.shape[0] for f in output.fields.values() if f is not None and f.type.shape}
    return sizes.pop() if len(sizes) == 1 else None
