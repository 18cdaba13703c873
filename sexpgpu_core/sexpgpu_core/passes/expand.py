"""Composites that the device does not take as one call become primitives, by their own `expand`.

A rule of the builder: what an expansion makes goes through it too, so nothing composite is left.
Local rules and the contraction to fma run in the same walk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import Builder, Node, Value
from ..ir.builder import Rule
from ..ir.operation import Operations
from ..ir.rules import RULES
from .contract import CONTRACTED, contracted
from .rebuild import Change

Library = Callable[[str], bool]


class Expansion:
    """`rule` for single results, `change` for nodes with several."""

    def __init__(self, operations: Operations, library: Library) -> None:
        self.operations = operations
        self.library = library
        self._primitive: set[str] = {"update", "scan", "while", "input", "constant"}

    def rule(
        self, b: Builder, operation: str, operands: tuple[Value, ...], attributes: dict[str, Any]
    ) -> Value | None:
        """A `builder.Rule`."""
        local = RULES.get(operation)
        if local is not None:
            instead = local(b, operands, attributes)
            if instead is not None:
                return instead
        if operation not in self._primitive:
            values = self._expanded(b, operation, operands, attributes)
            if values is not None:
                return values[0]
        return contracted(b, operation, operands) if operation in CONTRACTED else None

    def change(
        self, b: Builder, node: Node, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        """A `rebuild.Change`: nodes of one result are the rule's."""
        if len(node.types) == 1:
            return None
        return self._expanded(b, node.operation, operands, dict(node.attributes))

    def _expanded(
        self, b: Builder, name: str, operands: tuple[Value, ...], attributes: dict[str, Any]
    ) -> tuple[Value, ...] | None:
        if name in self._primitive:
            return None
        operation = self.operations[name]
        if self.library(name):
            self._primitive.add(name)
            return None
        given = {k: v for k, v in attributes.items() if v is not None}
        node = Node(name, operands, tuple(sorted(given.items())), (), b.policy, b.copy, -1)
        node.types = b.infer(node)
        values = operation.expand(b, node)
        if values is None:
            self._primitive.add(name)
        return values


def expansion(operations: Operations, library: Library) -> tuple[Change, Rule]:
    """What `rebuild` takes to expand a graph."""
    found = Expansion(operations, library)
    return found.change, found.rule
