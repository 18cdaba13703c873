"""An output to a traced graph: its fields as inputs, its tensors as results, in `:eval` mode.

A name is prepare's where prepare returns it, else the loader's raw field; what is fed is raw. An
autoregressive output takes raw fields only.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from ..diagnostics import problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import Function, Value, first_value
from ..experiment.declarations import Experiment
from ..ir.graph import Value as Node
from ..ir.operation import Operations
from ..ir.scalars import text
from ..ir.types import Type
from .builtins.batch import Named
from .builtins.random import ROW
from .context import Context
from .contract import Fields
from .dependence import NONE, BatchAxes
from .faults import describe
from .forms.outputs import Output
from .host import host
from .metrics import Cutter, check_names, report
from .program import Program
from .tensor import Tensor
from .traced import Metric, TracedOutput


class OutputProgram(Program):
    """One output being traced for `rows` rows of `fields`, the raw fields of a loader."""

    def __init__(
        self, experiment: Experiment, evaluator: Evaluator, operations: Operations,
        context: Context, loader: str, stage: str, fields: Mapping[str, Type], rows: int | None,
        output: Output,
    ) -> None:  # fmt: skip
        super().__init__(experiment, evaluator, operations, context, loader, stage, fields, rows)
        self.output = output
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
            value = first_value(function.call(*self._arguments(function, given, asked)))
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
        node = self.t.builder.input(name, "batch", type.dtype, type.shape)
        self.own[name] = node
        return self.t.tensor(node)

    def _read_off(self, value: Value) -> TracedOutput:
        t = self.t
        tensors = self._tensors(value)
        self._refuse_steps()
        graph = t.builder.graph
        metrics = self._reported(graph.results)
        graph.results.update({f"output:{name}": node for name, node in tensors.items()})
        live = graph.live()
        read = {n.get("name") for n in graph.inputs() if n.id in live and n.get("kind") == "batch"}
        given = [(n.node.id, n.result) for n in self.own.values()]
        axes = BatchAxes(t.builder.operations, given, graph.bodies, rows=t.rows)
        return TracedOutput(
            graph,
            self.output.name,
            self.loader,
            t.rows if any(name in self.used for name in read) else None,
            {name: None if (a := axes.of(v)) == NONE else a for name, v in tensors.items()},
            tuple(metrics),
            dict(t.parameters),
            dict(t.states),
            {name: type for name, type in self.used.items() if name in read},
            {name: node.type for name, node in self.own.items() if name in read},
            dict(t.scalars),
            t.files_read(),
        )

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
