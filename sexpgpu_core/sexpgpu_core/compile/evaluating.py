"""`eval`: a form's values in a file's environment, tensors among them.

Tensor operations are traced as those of an output, of no data and no step. To run computes them by
the references: parameters and states have the values that they begin with, files are read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..evaluator.evaluator import Evaluator
from ..evaluator.float_text import float_text
from ..evaluator.standard_variables import VARIABLES
from ..evaluator.values import Cons, Function, MultipleValues, Staged, Value
from ..experiment.declarations import Experiment
from ..ir import Operations
from ..ir.graph import Value as Node
from ..ir.scalars import evaluate, text
from ..staging.builtins.random import ROW
from ..staging.context import Context
from ..staging.tensor import Typed
from ..staging.tracer import Tracer
from .persistents import declared

if TYPE_CHECKING:
    import numpy as np

ELEMENTS = 100
"""Of a tensor that are printed where no length is asked for."""


class Forms:
    """Evaluates forms of one file; `experiment` None: of a text that is no run. `loaders`: what
    `loader-batch` asks."""

    def __init__(
        self,
        evaluator: Evaluator,
        operations: Operations,
        experiment: Experiment | None,
        loaders: Mapping[str, Any] | None = None,
    ) -> None:
        self.evaluator = evaluator
        self.loaders = loaders
        self.seed = experiment.run.seed if experiment is not None else 0
        facts = {"mode": ":eval", "pass": None, "stage": None, "output": "eval", "seed": self.seed}
        full = experiment.run.full if experiment is not None else "f32"
        self.tracer = Tracer(operations, Context("U", facts, full=full), None)
        self.tracer.part = "output"

    def values(self, form: str) -> Value:
        """Raises Problem or Problems."""
        at = self.evaluator.host
        at.tracer, at.batches = self.tracer, self.loaders
        try:
            return self.evaluator.evaluate(form)
        finally:
            at.tracer = at.batches = None

    def shown(self, value: Value, run: bool, length: int | None) -> list[tuple[str, str]]:
        """Text and type of each value. `run`: a tensor's elements instead of its type. `length`:
        elements of a list, and of a tensor's axis, that are printed (0: all)."""
        several = list(value) if isinstance(value, MultipleValues) else [value]
        told = self._computed(several, length) if run else several
        if length:
            VARIABLES["*PRINT-LENGTH*"].value = length
        found = self.evaluator.shown(MultipleValues(told))
        return [
            (text, f"tensor {v.type}" if isinstance(v, Typed) else type_)
            for (text, type_), v in zip(found, several)
        ]

    def _computed(self, values: Sequence[Value], length: int | None) -> list[Value]:
        """With the elements in place of tensors, those in lists as well."""

        def work() -> Any:
            return self._run({id(v): self.tracer.node(v) for v in _tensors(values)})

        arrays = self.evaluator.call(Function("eval", work))
        made = {key: Elements(elements(array, length)) for key, array in arrays.items()}
        return [_replaced(v, made) for v in values]

    def _run(self, nodes: dict[int, Node]) -> dict[int, np.ndarray]:
        from ..ir.interpret import run

        graph = self.tracer.builder.graph
        graph.results = {str(key): node for key, node in nodes.items()}
        live = graph.live()
        given = {
            f"{n.get('kind')}:{n.get('name')}": self._input(str(n.get("kind")), str(n.get("name")))
            for n in graph.inputs()
            if n.id in live
        }
        found = run(graph, given, self.tracer.builder.operations)
        return {int(key): array for key, array in found.items()}

    def _input(self, kind: str, name: str) -> Any:
        t = self.tracer
        if kind == "constant":
            return t.files[name].load()
        if kind == "scalar":
            return _scalar(t, name)
        made = t.parameters[name] if kind == "parameter" else t.states[name]
        return declared(made, self.seed, lambda path: self._input("parameter", path))


def _scalar(t: Tracer, name: str) -> float:
    """Of no step: the position of the first example is 0."""
    return 0.0 if name == text(ROW.tree) else float(evaluate(t.scalars[name], {}))


def _tensors(values: Sequence[Value]) -> list[Value]:
    found: list[Value] = []
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, Typed):
            found.append(value)
        elif isinstance(value, Cons):
            waiting += [value.cdr, value.car]
    return found


def _replaced(value: Value, made: Mapping[int, Value]) -> Value:
    if isinstance(value, Typed):
        return made[id(value)]
    parts = []
    while isinstance(value, Cons):
        parts.append(_replaced(value.car, made))
        value = value.cdr
    for part in reversed(parts):
        value = Cons(part, value)
    return value


class Elements(Staged):
    """The elements of a tensor, as text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def describe(self) -> str:
        return self._text

    def type_name(self) -> str:
        return "tensor"


def elements(array: np.ndarray, length: int | None) -> str:
    """As lists in lists, which `(tensor '...)` reads; a number where there are no axes."""
    keep = _fitting(array.shape) if length is None else length or max(array.shape, default=0)
    return _nested(array, keep)


def _fitting(shape: Sequence[int]) -> int:
    """How many of each axis make so few that a person reads them."""
    keep = max(shape, default=1)
    while keep > 3 and math.prod(min(n, keep) for n in shape) > ELEMENTS:
        keep -= max(1, keep // 8)
    return keep


def _nested(array: np.ndarray, keep: int) -> str:
    if array.ndim == 0:
        return _number(array[()])
    parts = [_nested(part, keep) for part in array[:keep]]
    return f"({' '.join(parts + ['...'] * (len(array) > keep))})"


def _number(x: Any) -> str:
    """The shortest text that is the same number in its own dtype."""
    if x.dtype.kind == "b":
        return "t" if x else "nil"
    return str(int(x)) if x.dtype.kind in "iu" else float_text(float(str(x)))
