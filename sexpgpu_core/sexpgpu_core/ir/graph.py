"""The graph: immutable nodes in order, named results, and origins kept beside them.

Identity of a node is (operation, operands, attributes, policy, copy); spans are not part of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..records import NamedTuple
from .types import Attribute, Type


class Node:
    """One operation applied. `id` is dense and ascending in its graph: operands come first."""

    __slots__ = ("attributes", "copy", "id", "operands", "operation", "policy", "types")

    def __init__(
        self,
        operation: str,
        operands: tuple[Value, ...],
        attributes: tuple[tuple[str, Attribute], ...],
        types: tuple[Type, ...],
        policy: str,
        copy: int,
        id: int,
    ) -> None:
        self.operation = operation
        self.operands = operands
        self.attributes = attributes  # sorted by name
        self.types = types
        self.policy = policy
        self.copy = copy
        self.id = id

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        for key, value in self.attributes:
            if key == name:
                return value
        return default

    def __repr__(self) -> str:
        return f"%{self.id} {self.operation}"


class Value(NamedTuple):
    """One result of a node."""

    node: Node
    result: int = 0

    @property
    def type(self) -> Type:
        return self.node.types[self.result]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.types[self.result].shape

    @property
    def dtype(self) -> str:
        return self.node.types[self.result].dtype


value_of: Callable[[tuple[Node, int]], Value] = functools.partial(tuple.__new__, Value)
"""Value(*pair) at little more than half its cost, for the walks that make one for every node."""


class Origin(NamedTuple):
    """Where a node came from. `span` is a spans.Span or None; `scope` a path such as gpt/h/3."""

    span: Any
    scope: str
    expansion: tuple[Any, ...] = ()
    grad: bool = False


MAX_ORIGINS = 8


class Graph:
    """Nodes, named results, origins, and bodies (subgraphs of `update` and `scan` by hash)."""

    __slots__ = ("bodies", "nodes", "origins", "results")

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.results: dict[str, Value] = {}
        self.origins: dict[int, tuple[Origin, ...]] = {}
        self.bodies: dict[str, Graph] = {}

    def inputs(self) -> list[Node]:
        """Nodes of operation `input`, in order. Attributes: name, kind."""
        return [n for n in self.nodes if n.operation == "input"]

    def live(self) -> set[int]:
        """Ids of nodes that a result needs."""
        seen = {v.node.id for v in self.results.values()}
        for node in reversed(self.nodes):
            if node.id in seen:
                for value in node.operands:
                    seen.add(value.node.id)
        return seen

    def users(self) -> list[list[Node]]:
        """For each node id the nodes that use one of its results (once each)."""
        users: list[list[Node]] = [[] for _ in self.nodes]
        for node in self.nodes:
            for source in {v.node.id for v in node.operands}:
                users[source].append(node)
        return users

    def origin(self, node: Node) -> Origin | None:
        found = self.origins.get(node.id)
        return found[0] if found else None
