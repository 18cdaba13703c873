"""The only way to make nodes: infers types, hash-conses, notes where the current call stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import problem
from .graph import MAX_ORIGINS, Graph, Node, Origin, Value, value_of
from .operation import Operations
from .rounding import rounded
from .types import Attribute, Type

Rule = Callable[["Builder", str, tuple[Value, ...], dict[str, Any]], "Value | None"]
"""A local rule: asked before a node is made; gives the value to use instead, or None."""

Identity = tuple[tuple[Any, ...], ...]
"""Attributes as part of what a node is."""


class Builder:
    """Appends to one graph.

    `origin` (a function of a node giving an Origin or None) says where it was made; `policy` and
    `copy` go into every node made (leaves are not computed and have no copy); `rule` is asked first
    (autodiff and passes set it). Tracing sets `limit`, the most nodes: what comes after it makes as
    many again as it has reason to.
    """

    __slots__ = (
        *("_inferred", "_known", "copy", "graph", "limit", "operations", "origin"),
        *("policy", "rule"),
    )

    def __init__(
        self,
        operations: Operations,
        graph: Graph | None = None,
        origin: Callable[[Node], Origin | None] | None = None,
        rule: Rule | None = None,
        limit: int | None = None,
    ) -> None:
        self.operations = operations
        self.graph = graph if graph is not None else Graph()
        self.origin = origin
        self.policy = ""
        self.copy = 0
        self.rule = rule
        self.limit = limit
        self._known: dict[tuple[Any, ...], Node] = {node_key(n): n for n in self.graph.nodes}
        self._inferred: dict[tuple[Any, ...], tuple[Type, ...]] = {}

    def __call__(self, operation: str, *operands: Value, **attributes: Attribute) -> Value:
        """The first result of the node; make it if it is not there yet."""
        if self.rule is not None:
            instead = self.rule(self, operation, operands, attributes)
            if instead is not None:
                return instead
        return value_of((self.node(operation, operands, attributes), 0))

    def several(
        self, operation: str, *operands: Value, **attributes: Attribute
    ) -> tuple[Value, ...]:
        """All results of a node with several."""
        node = self.node(operation, operands, attributes)
        return tuple(Value(node, i) for i in range(len(node.types)))

    def node(self, operation: str, operands: tuple[Value, ...], attributes: dict[str, Any]) -> Node:
        """The node itself, consed. Attributes that are None are left out."""
        return self._consed(operation, operands, _pairs(attributes) if attributes else ())

    def remake(self, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        """The results of a node of any graph with operands of this one, through the rule."""
        if len(node.types) == 1:
            if self.rule is not None:
                attributes = dict(node.attributes)
                instead = self.rule(self, node.operation, operands, attributes)
                if instead is not None:
                    return (instead,)
            return (value_of((self._consed(node.operation, operands, node.attributes, node), 0)),)
        made = self._consed(node.operation, operands, node.attributes, node)
        return tuple([Value(made, i) for i in range(len(made.types))])

    def _consed(
        self,
        operation: str,
        operands: tuple[Value, ...],
        pairs: tuple[tuple[str, Attribute], ...],
        like: Node | None = None,
    ) -> Node:
        """The node that is there, or a new one. It is made before it is looked for: most are new,
        and so the key is hashed once."""
        nodes = self.graph.nodes
        own = _identity(pairs) if pairs else pairs
        copy = self.copy if operands else 0
        key = (operation, operands, own, self.policy, copy)
        made = Node(operation, operands, pairs, (), self.policy, copy, len(nodes))
        found = self._known.setdefault(key, made)
        if found is made:
            try:
                made.types = self._inferred_types(made, own, like)
            except BaseException:
                del self._known[key]
                raise
            nodes.append(made)
        if self.origin is not None:
            self._note(found)
        return found

    def infer(self, node: Node) -> tuple[Type, ...]:
        """Types of the results that a node would have here."""
        return self._inferred_types(node, _identity(node.attributes), None)

    def _inferred_types(self, node: Node, own: Identity, like: Node | None) -> tuple[Type, ...]:
        """Each combination of types and attributes is inferred once: layers repeat. `like`: a node
        that is the same but for its operands; where theirs are of equal types, so are its own."""
        if self.limit is not None and node.id >= self.limit:
            raise problem("E-LIMIT-NODES", f"the graph has more than {self.limit:,} nodes")
        given = tuple([v.node.types[v.result] for v in node.operands])
        if like is not None and given == tuple([v.node.types[v.result] for v in like.operands]):
            return like.types
        key = (node.operation, given, own)
        types = self._inferred.get(key)
        if types is None:
            types = self.operations[node.operation].infer(given, dict(node.attributes))
            self._inferred[key] = types
        return types

    def _note(self, node: Node) -> None:
        assert self.origin is not None
        origin = self.origin(node)
        if origin is None:
            return
        known = self.graph.origins.get(node.id, ())
        if len(known) < MAX_ORIGINS and origin not in known:
            self.graph.origins[node.id] = (*known, origin)

    # Shorthands that every phase and every gradient rule uses.
    def input(self, name: str, kind: str, dtype: str, shape: tuple[int, ...]) -> Value:
        """kind: parameter state optimizer ema batch persistent scalar residue body. A name is one
        node, whatever the policy it is met in."""
        before, self.policy = self.policy, ""
        found = self("input", name=name, kind=kind, dtype=dtype, shape=shape)
        self.policy = before
        return found

    def constant(self, value: Any, dtype: str, shape: tuple[int, ...] = ()) -> Value:
        """A splat of one number, rounded once to dtype; E-DTYPE-RANGE, E-DTYPE-WEAK."""
        return self("constant", value=rounded(value, dtype), dtype=dtype, shape=shape)

    def like(self, value: Any, x: Value) -> Value:
        """A scalar constant of x's dtype (it broadcasts)."""
        return self.constant(value, x.dtype)


def _pairs(attributes: dict[str, Any]) -> tuple[tuple[str, Attribute], ...]:
    """Attributes by name, without those that are None."""
    if len(attributes) == 1 and None not in attributes.values():
        return tuple(attributes.items())
    return tuple(sorted([(k, v) for k, v in attributes.items() if v is not None]))


def node_key(node: Node) -> tuple[Any, ...]:
    """A node's identity. Nodes are equal when they are the same object, so that values stand for
    themselves."""
    return node.operation, node.operands, _identity(node.attributes), node.policy, node.copy


_PLAIN = (int, str, tuple)


def _identity(attributes: tuple[tuple[str, Attribute], ...]) -> Identity:
    """True == 1 == 1.0 in Python: the class of such a number is part of the identity, and so is
    the sign of zero."""
    for _, given in attributes:
        if given.__class__ not in _PLAIN:
            return tuple(
                [(k, v.__class__, repr(v) if v.__class__ is float else v) for k, v in attributes]
            )
    return attributes
