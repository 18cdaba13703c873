"""Metrics cut at their last batch reduction: pairs (sum, weight) that add over batches (45.5).

A scalar is read backwards from its node: a mean, a weighted mean, a sum, affine combinations of
means, a ratio of sums, functions of one of these; what is none of them is averaged over batches.
"""

from __future__ import annotations

from ..diagnostics import problem
from ..ir.graph import Node, Value
from ..records import NamedTuple
from ..spans import Span
from .dependence import MIXED, NONE
from .regions import Weighed
from .traced import Metric, Ratio
from .tracer import Tracer

FUNCTIONS = frozenset(
    [
        "exp",
        "exp2",
        "log",
        "log2",
        "log1p",
        "expm1",
        "sqrt",
        "negate",
        "abs",
        "square",
        "reciprocal",
    ]
)
SAME = frozenset(["cast", "reshape", "stop-gradient", "broadcast-to", "barrier"])


class Reported(NamedTuple):
    """One `(metric ...)` as it was called."""

    name: str
    node: Value
    reduce: str
    weights: Value | None
    unit: str | None
    span: Span | None
    part: str
    form: object = None  # the call


class Cut(NamedTuple):
    """How a scalar is made of sums. kind: fixed mean weighted sum affine unknown.

    mean: affine in means of equal weight. weighted: total / weight. affine: affine in means of
    unlike weights, so it is a loss but no metric that adds.
    """

    kind: str
    total: Value | None = None
    weight: Value | None = None


UNKNOWN = Cut("unknown")


def note_mean(t: Tracer, found: Value, total: Value, count: int) -> None:
    """The node is total / count, a mean."""
    if t.region is t.root:
        t.means[(found.node.id, found.result)] = (total, count)


def note_weighted(t: Tracer, found: Value, total: Value, weight: Value, each: Value) -> None:
    """The node is total / weight, or 0 where the weight is. `each`: the weights as they were
    given."""
    if t.training:
        t.region.weighed[found.node.id, found.result] = Weighed((found,), found.node.operands[0])
    if t.region is t.root:
        t.means[(found.node.id, found.result)] = (total, weight)
        t.weighed[found.node.id] = each


def of_parameters(value: Value) -> bool:
    """Whether a value is computed from parameters, but for what stop-gradient holds back."""
    return "parameter" in kinds_of(value, "stop-gradient")


def of_whole(value: Value) -> bool:
    """Whether a value is computed from all examples of a pass (R22)."""
    return "over" in kinds_of(value)


def kinds_of(value: Value, border: str = "") -> set[str]:
    """Kinds of the inputs that a value is computed from; `border`: an operation to stop at."""
    seen, found = {value.node.id}, set()
    stack = [value.node]
    while stack:
        node = stack.pop()
        if node.operation == "input":
            found.add(str(node.get("kind")))
        if node.operation != border:
            new = [v.node for v in node.operands if v.node.id not in seen]
            seen.update(n.id for n in new)
            stack += new
    return found


class Cutter:
    """Reads the scalars of one trace."""

    def __init__(self, t: Tracer) -> None:
        self.t = t
        self.axes = t.root.axes(t.per_block)
        self.ratios: dict[int, Ratio] = {}  # weighted means met so far, by node

    def cut(self, value: Value) -> Cut:
        """What a scalar is in terms of batch sums."""
        if (value.node.id, value.result) in self.t.per_block:
            return Cut("mean")
        if self.axes.of(value) == NONE:
            return Cut("fixed")
        noted = self.t.means.get((value.node.id, value.result))
        if noted is not None:
            return self._noted(value, *noted)
        node = value.node
        if node.operation in SAME and len(node.operands[0].shape) == 0:
            return self.cut(node.operands[0])
        if node.operation == "reduce-sum" and value.shape == ():
            return Cut("sum", value) if self.axes.of(node.operands[0]) >= 0 else UNKNOWN
        if value.shape != ():
            return UNKNOWN
        return self._combined(node)

    def mixes(self, value: Value) -> bool:
        """Whether the examples of a batch meet in a tensor, otherwise than in a mean over them."""
        if self.axes.of(value) != MIXED or self.t.rows == 1:
            return False
        total, _ = self.t.means.get((value.node.id, value.result), (None, 0))
        if total is None or total.node.operation != "reduce-sum":
            return True
        return self.axes.of(total.node.operands[0]) < 0

    def of_batches(self, value: Value, reduce: str) -> bool:
        """Whether what is reduced by `reduce`, or with weights, is of batches, not of examples."""
        while value.node.operation in SAME:
            value = value.node.operands[0]
        if value.node.operation == "reduce-" + reduce:
            value = value.node.operands[0]
        if reduce == "mean":
            return value.shape != () and self.mixes(value)
        return self.axes.of(value) == MIXED and self.t.rows != 1

    def _noted(self, value: Value, total: Value, weight: Value | int) -> Cut:
        if self.cut(total).kind != "sum":
            return UNKNOWN
        if isinstance(weight, int):
            return Cut("mean")
        if self.cut(weight).kind not in ("sum", "fixed"):
            return UNKNOWN
        return self._weighted(value, total, weight)

    def _weighted(self, value: Value, total: Value, weight: Value) -> Cut:
        self.ratios[value.node.id] = Ratio(value, total, weight)
        return Cut("weighted", total, weight)

    def _combined(self, node: Node) -> Cut:
        parts = [self.cut(v) for v in node.operands]
        kinds = {p.kind for p in parts}
        if "unknown" in kinds:
            return UNKNOWN
        if node.operation in ("add", "subtract"):
            return self._added(kinds)
        if node.operation == "negate":
            return self._scaled(node, parts[0])
        if node.operation == "multiply" and "fixed" in kinds:
            return self._scaled(node, next((p for p in parts if p.kind != "fixed"), parts[0]))
        if node.operation == "divide":
            return self._divided(node, parts)
        return UNKNOWN

    @staticmethod
    def _added(kinds: set[str]) -> Cut:
        if kinds <= {"mean", "fixed"}:
            return Cut("mean")
        if kinds == {"sum"}:
            return Cut("sum")
        return Cut("affine") if kinds <= {"mean", "fixed", "weighted", "affine"} else UNKNOWN

    def _scaled(self, node: Node, part: Cut) -> Cut:
        if part.kind == "weighted" and part.total is not None:
            others = [v for v in node.operands if self.axes.of(v) == NONE]
            b = self.t.builder
            total = (
                b("negate", part.total) if not others else b(node.operation, part.total, others[0])
            )
            return Cut("weighted", total, part.weight)
        return part

    def _divided(self, node: Node, parts: list[Cut]) -> Cut:
        above, below = parts
        if below.kind == "fixed":
            if above.kind == "sum" and self._is_count(node):
                return Cut("mean")
            return self._scaled(node, above)
        if above.kind == below.kind == "sum":
            return self._weighted(Value(node), *node.operands)
        return UNKNOWN

    def _is_count(self, node: Node) -> bool:
        """Whether a sum is divided by how many it is of, or by the rows."""
        above, below = node.operands
        number = below.node.get("value")
        if below.node.operation != "constant" or not above.node.operands:
            return False
        return number in (float(above.node.operands[0].type.size), float(self.t.rows or 0))


def report(
    cutter: Cutter, reported: Reported, results: dict[str, Value], batchwise: list[str]
) -> Metric:
    """Adds the results of one metric; names that cannot be cut are appended to `batchwise`."""
    t, node, name = cutter.t, reported.node, reported.name
    finish: list[str] = []
    if reported.reduce != "mean" or reported.weights is not None:
        if cutter.of_batches(node, reported.reduce):
            batchwise.append(name)
        return _reduced(t, reported, results)
    if node.shape:
        if cutter.axes.of(node) != MIXED:
            return _reduced(t, reported, results)
        if cutter.mixes(node):
            batchwise.append(name)
        return _by_rows(t, reported, results)
    if t.gathered and of_whole(node):
        results[f"metric:{name}:value"] = _single(t, node)
        return Metric(name, "mean", reported.unit, (), reported.span)
    while node.node.operation in FUNCTIONS and cutter.cut(node).kind == "unknown":
        finish.insert(0, node.node.operation)
        node = node.node.operands[0]
    found = cutter.cut(node)
    if found.kind == "sum":
        results[f"metric:{name}:value"] = _single(t, node)
        return Metric(name, "sum", reported.unit, tuple(finish), reported.span)
    if found.kind == "weighted" and found.total is not None and found.weight is not None:
        results[f"metric:{name}:sum"] = _single(t, found.total)
        results[f"metric:{name}:weight"] = _single(t, found.weight)
        return Metric(name, "mean", reported.unit, tuple(finish), reported.span)
    if found.kind in ("unknown", "affine"):
        batchwise.append(name)
        if found.kind == "unknown":
            node, finish = reported.node, []
    return _by_rows(t, reported._replace(node=node), results, tuple(finish))


def _by_rows(
    t: Tracer, reported: Reported, results: dict[str, Value], finish: tuple[str, ...] = ()
) -> Metric:
    """A metric of batches: each one's value, the mean of a tensor, is weighted by its rows."""
    b, name, node = t.builder, reported.name, _single(t, reported.node)
    rows = b.constant(float(t.rows or 1), t.full)
    each = rows if not node.shape else b.constant((t.rows or 1) / node.type.size, t.full)
    results[f"metric:{name}:sum"] = b("multiply", _total(t, node), each)
    results[f"metric:{name}:weight"] = rows
    return Metric(name, "mean", reported.unit, finish, reported.span)


def _reduced(t: Tracer, reported: Reported, results: dict[str, Value]) -> Metric:
    """A metric of a tensor with axes, with weights, or with another reduction than the mean."""
    b, node, name = t.builder, _single(t, reported.node), reported.name
    axes = tuple(range(len(node.shape)))
    metric = Metric(name, reported.reduce, reported.unit, (), reported.span)
    if reported.reduce != "mean":
        operation = "reduce-" + reported.reduce
        results[f"metric:{name}:value"] = (
            b(operation, node, axes=axes, keep=False) if axes else node
        )
        return metric
    if reported.weights is None:
        total, weight = node, b.constant(float(node.type.size), t.full)
    else:
        w = _single(t, reported.weights)
        total = b("multiply", node, w)
        weight = b("broadcast-to", w, shape=total.shape) if w.shape != total.shape else w
    results[f"metric:{name}:sum"] = _total(t, total)
    results[f"metric:{name}:weight"] = _total(t, weight)
    return metric


def _total(t: Tracer, node: Value) -> Value:
    axes = tuple(range(len(node.shape)))
    return t.builder("reduce-sum", node, axes=axes, keep=False) if axes else node


def _single(t: Tracer, node: Value) -> Value:
    return node if node.dtype == t.full else t.builder("cast", node, dtype=t.full)


def check_names(metrics: list[Reported]) -> None:
    """E-METRIC where two metrics of one program share a name."""
    seen: dict[str, Reported] = {}
    for m in metrics:
        if m.name in seen:
            raise problem(
                "E-METRIC",
                f'two metrics are called "{m.name}"',
                hint="give each a name of its own",
                name=m.name,
            ).locate(m.span)
        seen[m.name] = m


__all__ = [
    "MIXED",
    "Cut",
    "Cutter",
    "Reported",
    "check_names",
    "note_mean",
    "note_weighted",
    "of_parameters",
    "report",
]
