"""One program being traced: prepare, then objective or evaluate, and the results read off."""

from __future__ import annotations

from collections.abc import Mapping

from ..diagnostics import Change, Diagnostic, Edit, Problem, diagnostic, nearest, problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import Function, MultipleValues, Symbol, Value, first_value, keyword
from ..experiment.declarations import Experiment
from ..ir.graph import Node as GraphNode
from ..ir.graph import Value as Node
from ..ir.operation import Operations
from ..ir.types import FLOATS, Type
from ..reader import element_span
from ..spans import Span
from .builtins.batch import Named
from .context import Context
from .contract import Fields, field_names
from .faults import describe
from .host import host
from .metrics import Cutter, Reported, check_names, of_parameters, report
from .mixing import check_examples
from .syntax import tails
from .tensor import Tensor
from .traced import Metric, Traced
from .tracer import Tracer


class Program:
    """One program being traced."""

    def __init__(
        self, experiment: Experiment, evaluator: Evaluator, operations: Operations,
        context: Context, loader: str, stage: str, fields: Mapping[str, Type], rows: int | None,
    ) -> None:  # fmt: skip
        self.experiment = experiment
        self.evaluator = evaluator
        t = self.t = Tracer(operations, context, rows)
        t.program, t.stage = context.values.get("pass") or stage, stage
        declared = experiment.loaders[loader].stages[stage].order
        t.order = declared or ("shuffled" if context.place == "O" else "sequential")
        self.loader = loader
        self.stage = stage
        self.fields = fields
        self.used: dict[str, Type] = {}

    def run(self, function: Function, part: str, blocks: int = 1) -> Traced:
        """Calls prepare, then the function, and reads off the results."""
        found: Traced = self.evaluator.call(
            Function(part, lambda: self._run(function, part, blocks))
        )
        return found

    def _run(self, function: Function, part: str, blocks: int) -> Traced:
        at, t = host(), self.t
        at.tracer = t
        place = t.context.place
        try:
            t.part, t.context = "prepare", t.context._replace(place="P")
            given = self._prepared()
            t.part, t.context = part, t.context._replace(place=place)
            value = function.call(*self._arguments(function, given))
            losses = _losses(t, value, function) if part == "objective" else {}
            return self._traced(losses, part, blocks)
        finally:
            at.tracer = None

    def _prepared(self) -> dict[str, Value]:
        prepare = self.experiment.prepare
        if prepare is None:
            return self._raw()
        value = first_value(prepare.call(*self._arguments(prepare, self._raw())))
        if not isinstance(value, Named) or value.kind != "batch":
            raise problem(
                "E-CONTRACT",
                f"prepare returns {describe(value)}, wants a batch",
                hint="(batch :inputs x :targets y)",
            ).locate(prepare.span)
        return dict(value.items)

    def _raw(self) -> dict[str, Value]:
        """The loader's fields, each made an input when it is taken."""
        return _Fields(self)

    def _arguments(
        self, function: Function, given: Mapping[str, Value], asked: Fields | None = None
    ) -> list[Value]:
        """Keywords and tensors for the names that a function asks for; E-FIELD."""
        asked = asked or field_names(self.evaluator, function)
        found: list[Value] = []
        for name, needed in asked.names.items():
            if name in given:
                found += [keyword(name.upper()), given[name]]
            elif needed:
                raise _no_field(function, name, given)
        if asked.rest:
            for name in given:
                if name not in asked.names:
                    found += [keyword(name.upper()), given[name]]
        return found

    def field(self, name: str) -> Tensor:
        """A raw field as an input of the graph."""
        type = self.used[name] = self.fields[name]
        return self.t.tensor(self.t.widened(self.t.builder.input(name, "batch", *type)))

    def _traced(self, losses: dict[str, Node], part: str, blocks: int) -> Traced:
        t = self.t
        training = t.context.place == "O"
        results: dict[str, Node] = dict(losses) if training else {}
        cutter = Cutter(t)
        kinds: dict[str, str] = {}
        if training:
            kinds = _check_affine(self.evaluator, cutter, losses, blocks)
            self._check_dependence(list(losses.values()), cutter)
            for number, ratio in enumerate(cutter.ratios.values()):
                results.update(ratio.results(number))
            results.update(_empty(t, cutter, losses))
        metrics = self._metrics(cutter, results, losses, training)
        for path, node in t.proposals.items():
            rows = t.states[path].rows
            if training:
                results[f"proposal:{path}"] = node
            elif rows and t.whole_rows in (None, t.rows):  # nothing follows a short batch
                results[f"next:rows:{rows}"] = node
        results.update(t.gathered)
        t.builder.graph.results = results
        return Traced(
            t.builder.graph,
            self.loader,
            self.stage,
            t.rows or 1,
            tuple(losses) if training else (),
            tuple(metrics),
            dict(t.parameters),
            dict(t.states),
            self.used,
            dict(t.scalars),
            tuple(t.sites),
            frozenset(name for name, kind in kinds.items() if kind == "sum"),
            t.watched,
            tuple(t.proved),
            t.files_read(),
            {n: Type(v.dtype, (t.examples or t.rows or 1, *v.shape[1:]))
             for n, v in t.gathered.items()},
            t.averages_at,
        )  # fmt: skip

    def _check_dependence(self, losses: list[Node], cutter: Cutter) -> None:
        """Warnings about examples that affect each other and labels that the model reads; once a
        place."""
        known = {(d.code, d.span) for d in self.evaluator.diagnostics}
        found = list(check_examples(self.t, losses, cutter.axes))
        if any(map(_has_labels, self.t.root.builder.graph.nodes)):
            from .targets import check_targets

            found += check_targets(self.t)
        for warning in found:
            if (warning.code, warning.span) not in known:
                known.add((warning.code, warning.span))
                self.evaluator.warn(warning)

    def _metrics(
        self, cutter: Cutter, results: dict[str, Node], losses: dict[str, Node], training: bool
    ) -> list[Metric]:
        t = self.t
        check_names(t.metrics)
        reported = list(t.metrics)
        if not training and not reported:
            reported = [
                Reported("objective", node, "mean", None, None, None, "objective")
                for node in losses.values()
            ][:1]
        batchwise: list[str] = []
        found = [report(cutter, r, results, batchwise) for r in reported]
        if not training and t.rows is not None:  # data that is one thing is one batch
            for metric, called in zip(found, reported):
                if metric.name in batchwise:
                    self.evaluator.warn(_batchwise(metric, called))
        return found


def _empty(t: Tracer, cutter: Cutter, losses: dict[str, Node]) -> dict[str, Node]:
    """What counts weight sums of 0 that are of no ratio."""
    if all(node in cutter.ratios for node, _ in t.root.weighed):
        return {}
    from .weighing import count_empty

    return count_empty(t, cutter, losses.values())


def _has_labels(node: GraphNode) -> bool:
    """Whether it is a loss of a label a position, whose model could read it."""
    return node.operation == "cross-entropy" and len(node.operands[1].shape) == 2


class _Fields(dict[str, Value]):
    """Raw fields by name, made inputs when they are taken."""

    def __init__(self, trace: Program) -> None:
        super().__init__(dict.fromkeys(trace.fields))
        self.trace = trace

    def __getitem__(self, name: str) -> Value:
        return self.trace.field(name)


OVER_BATCHES = {
    "mean": "it is averaged over batches",
    "sum": "it is added up over batches",
    "max": "it is the greatest of all batches",
    "min": "it is the least of all batches",
}
"""What a pass makes of a number that each batch has its own of, by the kind of the metric."""


def _batchwise(metric: Metric, called: Reported) -> Diagnostic:
    changes = _gathered(called.form) if called.part == "evaluate" else ()
    return diagnostic(
        "W-METRIC-BATCHWISE",
        f'"{metric.name}" is no sum over examples: {OVER_BATCHES[metric.kind]}',
        span=metric.span,
        edit=Edit("gather its operands over the pass", changes) if changes else None,
        name=metric.name,
    )


def _gathered(form: object) -> tuple[Change, ...]:
    """`over-pass` around the variables of (metric name (f x y)): what f is given by name."""
    parts = tails(form)
    inner = element_span(parts[2]) if len(parts) > 2 else None
    if inner is None:
        return ()
    text, end = "", inner.start
    for at in tails(parts[2].car)[1:]:
        span = element_span(at)
        if at.car.__class__ is not Symbol or at.car.keyword or span is None:
            break  # keywords come last
        text += f"{inner.source.text[end : span.start]}(over-pass {span.text})"
        end = span.end
    return (Change(inner, text + inner.source.text[end : inner.end]),) if text else ()


def _no_field(function: Function, name: str, given: Mapping[str, Value]) -> Exception:
    near = nearest(name, given)
    hint = f"did you mean {near}? " if near else ""
    return problem(
        "E-FIELD",
        f"{function.name} asks for {name}, which is not there",
        hint=hint + "fields: " + " ".join(given),
        field=name,
        fields=list(given),
        written=name,
        nearest=near,
    ).locate(function.span)


def _losses(t: Tracer, value: Value, function: Function) -> dict[str, Node]:
    """Result names to f32 or f64 scalars; E-OBJECTIVE-SCALAR, E-CONTRACT of several values."""
    if value.__class__ is MultipleValues and len(value) > 1:
        raise problem(
            "E-CONTRACT",
            f"objective returns {len(value)} values, wants one loss",
            hint="of several players (losses :d x :g y); what is only told is (metric name x)",
        ).locate(function.span)
    value = first_value(value)
    if isinstance(value, Named) and value.kind == "losses":
        return {f"loss:{name}": _scalar(t, v, function, name) for name, v in value.items.items()}
    return {"loss": _scalar(t, value, function, "")}


def _scalar(t: Tracer, value: Value, function: Function, name: str) -> Node:
    what = f"the loss :{name}" if name else "objective"
    if not isinstance(value, Tensor) or value.shape != () or value.dtype not in FLOATS:
        hint = "reduce it: (mean loss)" if isinstance(value, Tensor) and value.shape else None
        raise problem(
            "E-OBJECTIVE-SCALAR",
            f"{what} is {describe(value)}, wants a floating scalar",
            hint=hint,
        ).locate(function.span)
    node = t.node(value)
    return t.builder("cast", node, dtype=t.full) if node.dtype in ("bf16", "f16") else node


def _check_affine(
    evaluator: Evaluator, cutter: Cutter, losses: dict[str, Node], blocks: int
) -> dict[str, str]:
    """What each loss is in terms of batch sums. E-OBJECTIVE-NONLINEAR where blocks would change
    it, E-WEIGHT-DEPENDS; W-OBJECTIVE-SUM."""
    kinds = {}
    for name, node in losses.items():
        kind = kinds[name] = cutter.cut(node).kind
        if kind == "unknown" and blocks > 1:
            raise _nonlinear(cutter, name, node)
        if kind == "sum":
            evaluator.warn(_summed(name, _span(cutter, node)))
    for ratio in cutter.ratios.values():
        each = cutter.t.weighed.get(ratio.node.node.id)
        if each is not None and of_parameters(each):
            raise problem(
                "E-WEIGHT-DEPENDS",
                "the weights of this weighted-mean depend on parameters",
                hint="(weighted-mean x (stop-gradient w)), where no gradient is meant to flow",
            ).locate(_span(cutter, ratio.node))
        if each is None and blocks > 1 and of_parameters(ratio.weight):
            raise _nonlinear(cutter, "the loss", ratio.node)
    return kinds


def _span(cutter: Cutter, node: Node) -> Span | None:
    origin = cutter.t.builder.graph.origin(node.node)
    return origin.span if origin else None


def _nonlinear(cutter: Cutter, name: str, node: Node) -> Problem:
    """At the operation that makes it so, not at what is made of that."""
    while inner := [v for v in node.node.operands if _uncut(cutter, v)]:
        node = inner[0]
    return problem(
        "E-OBJECTIVE-NONLINEAR",
        f"{name} is no affine combination of batch means: {node.node.operation}",
        hint="mean over the batch last; what is meant over a block: (per-block form)",
        operation=node.node.operation,
    ).locate(_span(cutter, node))


def _uncut(cutter: Cutter, value: Node) -> bool:
    return value.shape == () and cutter.cut(value).kind == "unknown"


def _summed(name: str, span: Span | None) -> Diagnostic:
    return diagnostic(
        "W-OBJECTIVE-SUM",
        f"{name} is a sum over the batch, so it grows with it",
        span=span,
        hint="take (mean x)",
        written="sum",
        nearest="mean",
    )
