"""Outputs of an experiment traced, each for so many rows as are asked for, and checked.

Nothing of training is traced for them, and of them nothing becomes a part of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..data.loader import Loader
from ..diagnostics import Diagnostic, Problem, Problems, nearest, problem
from ..evaluator.evaluator import Evaluator
from ..experiment.declarations import Experiment, PassDeclaration
from ..ir import Operations
from ..ir.graph import Value
from ..ir.types import FLOATS, INTEGERS
from ..records import NamedTuple
from ..staging.forms.outputs import Output
from ..staging.trace import trace_output
from ..staging.traced import Parameter, TracedOutput
from .averages import averaged_paths
from .stages import Tracing
from .traces import Traces


class OfPass(NamedTuple):
    """The pass that an output is computed in, which names have an average, and the rows of a
    whole batch."""

    declared: PassDeclaration
    averaged: frozenset[str]
    whole_rows: int | None

    def told(self) -> dict[str, Any]:
        """As `trace_output` takes it."""
        weights = "ema" if self.declared.weights == "ema" else "live"
        told = {"of_pass": self.declared.name, "weights": weights, "averaged": self.averaged}
        return {**told, "whole_rows": self.whole_rows}


class Serving:
    """Traces and compiles outputs of one experiment."""

    def __init__(
        self,
        experiment: Experiment,
        evaluator: Evaluator,
        operations: Operations,
        loaders: Mapping[str, Loader],
        tracing: Tracing | None = None,
    ) -> None:
        self.experiment, self.operations = experiment, operations
        self.tracing = tracing or Tracing(experiment, evaluator, operations, loaders)
        self.averaged: frozenset[str] | None = None  # paths that have an average; None: not known

    def output(self, name: str) -> Output:
        """E-USAGE-VALUE where there is none."""
        known = self.experiment.outputs
        if name not in known:
            near = nearest(name, known)
            listed = f"outputs: {' '.join(known)}" if known else "(defoutput ...) declares one"
            hint = f"did you mean {near}?" if near else listed
            raise problem("E-USAGE-VALUE", f"no output is named {name}", hint=hint, nearest=near)
        found: Output = known[name]
        return found

    def stage(self, name: str) -> tuple[str, str]:
        """The loader and the stage whose fields an output means: of those that have all of its
        names, else of the one that trains."""
        names = [n for n, own in self.output(name).fields.items() if own is None]
        stages = self.tracing.training_stages()[:1]
        stages += [(n, next(iter(x.stages))) for n, x in self.experiment.loaders.items()]
        for loader, stage in stages:
            if set(names) <= set(self.tracing.loaders[loader].fields(stage)):
                return loader, stage
        return stages[0]

    def rows(self, name: str) -> int:
        """Rows of a whole chunk: the batch of its loader's stage."""
        loader, stage = self.stage(name)
        return self.tracing.loaders[loader].rows(stage)

    def trace(
        self,
        name: str,
        rows: int,
        known: Mapping[str, Parameter] | None = None,
        length: int | None = None,
        of: OfPass | None = None,
    ) -> TracedOutput:
        """For so many rows; `length`: of the sequences of an autoregressive output; `of`: the pass
        that computes it."""
        loader, stage = self.stage(name)
        if of is not None and of.declared.loader and of.declared.stage:
            loader, stage = of.declared.loader, of.declared.stage
        fields = self.tracing.fields(loader, stage, rows)
        if length is not None:
            fields = {n: t._replace(shape=(rows, length)) for n, t in fields.items()}
        return trace_output(
            self.experiment,
            self.tracing.evaluator,
            self.operations,
            name,
            loader,
            stage,
            fields,
            self.tracing.batch(loader, rows),
            known=known,
            **(of.told() if of is not None else {"averaged": self.averaged}),
        )

    def context(self, name: str) -> int:
        """The longest sequence that an autoregressive output takes: its field's own, else the
        window, or one less where the window has the targets too."""
        loader, stage = self.stage(name)
        (own,) = self.output(name).fields.values()
        if own is not None:
            return own.type.shape[1]
        (shape,) = {t.shape for t in self.tracing.loaders[loader].fields(stage).values()}
        return int(shape[0])

    def longest(self, name: str, known: Mapping[str, Parameter] | None = None) -> TracedOutput:
        """An autoregressive output traced at its context, for one row."""
        length = self.context(name)
        if next(iter(self.output(name).fields.values())) is not None:
            return self.trace(name, 1, known)
        try:
            return self.trace(name, 1, known, length)
        except (Problem, Problems):
            return self.trace(name, 1, known, length - 1)

    def check(self, name: str, known: Mapping[str, Parameter]) -> TracedOutput:
        """Everything that can be known of an output before it is used."""
        output = self.output(name)
        if not output.autoregressive:
            return self.trace(name, self.rows(name), known)
        _check_fields(self, output)
        traced = self.longest(name, known)
        check_autoregressive(output, traced, self.operations)
        return traced


def check_outputs(
    traces: Traces,
    evaluator: Evaluator,
    operations: Operations,
    loaders: Mapping[str, Loader],
) -> None:
    """Traces every output. Raises Problems with the mistakes of all."""
    known = {p: v for s in traces.stages.values() for p, v in s.traced.parameters.items()}
    serving = Serving(traces.experiment, evaluator, operations, loaders)
    serving.averaged = averaged_paths(traces.stages.values())
    wrong: list[Diagnostic] = []
    for name in traces.experiment.outputs:
        try:
            serving.check(name, known)
        except Problem as error:
            wrong.append(error.diagnostic)
        except Problems as error:
            wrong += error.diagnostics
    if wrong:
        raise Problems(wrong)


# Autoregressive outputs


def _check_fields(serving: Serving, output: Output) -> None:
    """One field of integers (rows places); E-OUTPUT."""
    names = list(output.fields)
    if len(names) != 1:
        raise _refused(output, f"takes one field, and has {len(names)}")
    (own,) = output.fields.values()
    loader, stage = serving.stage(output.name)
    types = serving.tracing.fields(loader, stage, 1)
    type = own.type if own is not None else types.get(names[0])
    if type is None:
        known = " ".join(types)
        raise _refused(output, f"takes a field of the loader, and {names[0]} is none of {known}")
    if type.rank != 2 or type.dtype not in INTEGERS:
        raise _refused(output, f"takes integers (rows places), and {names[0]} is {type}")


def check_autoregressive(output: Output, traced: TracedOutput, operations: Operations) -> None:
    """Logits (rows places vocabulary), each of its place and those before; E-OUTPUT, E-CAUSAL."""
    from ..ir.dependence import Dependence
    from ..staging.causality import reading_ahead

    value = logits(output, traced)
    found = Dependence(traced.graph, operations, tokens(traced), 1)
    leak = found.leak(value, 1)
    if leak is not None:
        origin = traced.graph.origin(leak.node)
        place = origin.span if origin is not None else None
        raise Problem(reading_ahead(leak, "E-CAUSAL", output.span, place))


def tokens(traced: TracedOutput) -> list[Value]:
    """The one input of an autoregressive output, states apart."""
    given = [n for n in traced.graph.inputs() if n.get("kind") == "batch"]
    return [Value(n) for n in given if n.get("name") not in traced.fed]


def logits(output: Output, traced: TracedOutput) -> Value:
    """What an autoregressive output returns; E-OUTPUT where it is not such."""
    results = [traced.graph.results[f"output:{n}"] for n in traced.axes if n not in traced.fed]
    types = [*traced.fields.values(), *traced.own.values()]
    if not types:
        raise _refused(output, "returns what its field does not reach")
    value = results[0]
    fits = value.shape[:2] == types[0].shape and len(value.shape) == 3
    if len(results) != 1 or not fits or value.dtype not in FLOATS:
        raise _refused(output, f"returns logits (rows places vocabulary), not {value.type}")
    return value


def _refused(output: Output, what: str) -> Problem:
    return problem(
        "E-OUTPUT",
        f"output {output.name} is autoregressive: it {what}",
        hint="(defoutput next-token (&key tokens) (:autoregressive t) (gpt tokens))",
        output=output.name,
    ).locate(output.span)
