"""Patterns that a file wrote out as nodes become the composites they are: a walk over a traced
graph, before autodiff, so that the composites' own gradients apply.

Only where the composite is the same function for all finite inputs (45.30); decision 0017. What is
almost one is reported with the reason. Traced graphs stay as written: for spans and hashes.
"""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Builder, Graph, Node, Origin, Value
from ...ir.operation import Operations
from ...records import NamedTuple
from ..dead import drop_dead
from ..loops import with_bodies
from ..rebuild import rebuild
from .attention import attention
from .gelu import gelu
from .losses import lacking, picked, soft
from .match import Match, Near
from .norms import biased, norm, weighted
from .shares import log_softmax, logsumexp, softmax

Matcher = Callable[[Node], "Match | None"]


class Row(NamedTuple):
    """A pattern by name, and the matcher of its last node."""

    name: str
    matcher: Matcher
    told: bool = True  # a weight that joins its norm is not told apart


_SOFTMAX = Row("softmax", softmax)
_NORM = Row("norm", norm)
_GELU = Row("gelu", gelu)
ROWS: dict[str, tuple[Row, ...]] = {
    "divide": (_SOFTMAX, _NORM, _GELU),
    "multiply": (_SOFTMAX, _NORM, _GELU, Row("norm", weighted, told=False)),
    "exp": (_SOFTMAX,),
    "log": (Row("log-softmax", log_softmax),),
    "subtract": (Row("log-softmax", log_softmax), Row("cross-entropy", lacking)),
    "add": (Row("logsumexp", logsumexp), Row("norm", biased, told=False)),
    "take-along": (Row("cross-entropy", picked),),
    "gather": (Row("cross-entropy", picked),),
    "reduce-sum": (Row("cross-entropy", soft),),
    "matmul": (Row("attention", attention),),
    "einsum": (Row("attention", attention),),
}
"""By the operation of the last node, in the order in which they are asked."""

TRIGGERS = frozenset(
    (
        *("exp", "softmax", "log-softmax", "logsumexp", "erf", "tanh", "sigmoid"),
        *("sqrt", "rsqrt", "power"),
    )
)
"""Each pattern has one of these: a graph without any is not walked."""


class Finding(NamedTuple):
    """A pattern in a file, and why it stays as written, if it does."""

    name: str
    origin: Origin | None
    reason: str | None = None


def find_patterns(graph: Graph, operations: Operations) -> tuple[Graph, list[Finding]]:
    """The graph with composites in place of what was written out, and what was found where."""
    findings: list[Finding] = []
    return _found(graph, operations, findings), findings


def _found(graph: Graph, operations: Operations, findings: list[Finding]) -> Graph:
    if graph.bodies:
        graph = with_bodies(graph, lambda body: _found(body, operations, findings))
    if not any(n.operation in TRIGGERS for n in graph.nodes):
        return graph
    return drop_dead(rebuild(graph, operations, _Walk(graph, findings).change))


class _Walk:
    def __init__(self, graph: Graph, findings: list[Finding]) -> None:
        self.graph = graph
        self.findings = findings

    def change(
        self, b: Builder, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        """A `rebuild.Change`: the plain copy is the root that matchers look down from."""
        rows = ROWS.get(node.operation)
        if rows is None:
            return None
        values = b.remake(node, operands)
        for row in rows:
            instead = self._asked(b, row, node, values[0])
            if instead is not None:
                return (instead,)
        return values

    def _asked(self, b: Builder, row: Row, node: Node, root: Value) -> Value | None:
        origin = self.graph.origin(node)
        try:
            match = row.matcher(root.node)
            if match is None:
                return None
            _check_scopes(root.node, match)
        except Near as near:
            self.findings.append(Finding(row.name, origin, str(near)))
            return None
        found = _made(b, match, root)
        if found is not None and row.told:
            self.findings.append(Finding(match.operation, origin))
        return found


def _made(b: Builder, match: Match, root: Value) -> Value | None:
    """The composite's value as the root was; None where it would be of another dtype."""
    if match.make is not None:
        found = match.make(b)
    else:
        found = b(match.operation, *match.operands, **match.attributes)
    if match.negated:
        found = b("negate", found)
    if found.dtype != root.dtype or found.type.size != root.type.size:
        return None
    return found if found.shape == root.shape else b("reshape", found, shape=root.shape)


def _check_scopes(root: Node, match: Match) -> None:
    """All of a pattern is under one policy and in one checkpoint."""
    stop = {v.node.id for v in match.operands}
    stack, seen = [root], {root.id}
    while stack:
        node = stack.pop()
        if node.operands and (node.policy, node.copy) != (root.policy, root.copy):
            raise Near("its parts are under unlike precision policies or checkpoints")
        for v in node.operands:
            if v.node.id not in stop and v.node.id not in seen:
                seen.add(v.node.id)
                stack.append(v.node)
