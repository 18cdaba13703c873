"""Storages of a schedule, and where each value lies in one."""

from __future__ import annotations

from typing import Any

from ..ir import Node, Value
from ..ir.types import Type
from .kernel import Storage, View
from .prepare import LEAVES, PLACED, Prepared, is_compute
from .views import MOVES, dense_strides, moved


class Places:
    """Storages are made when a value's place is first asked for."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared
        self.storages: list[Storage] = []
        self.bases: dict[Value, View] = {}  # where a value that has a storage lies in it
        self.places: dict[Value, View | None] = {}
        self.stored: set[Value] = set()
        self.inputs_by_name: dict[tuple[str, str], int] = {}

    def storage(self, type: Type, kind: str, name: str = "", constant: object = None) -> int:
        self.storages.append(Storage(len(self.storages), type, kind, name, constant))
        return len(self.storages) - 1

    def dense(
        self, type: Type, kind: str = "temp", name: str = "", constant: object = None
    ) -> View:
        """A new storage, all of it."""
        storage = self.storage(type, kind, name, constant)
        return View(storage, type.dtype, type.shape, dense_strides(type.shape))

    def input_view(self, kind: str, name: str, type: Type) -> View:
        """The storage of a graph's input, one for each."""
        key = kind, name
        if key not in self.inputs_by_name:
            self.inputs_by_name[key] = self.storage(type, kind, name)
        storage = self.inputs_by_name[key]
        return View(storage, type.dtype, type.shape, dense_strides(type.shape))

    def base_view(self, value: Value) -> View | None:
        """The place of a value that is no move: given it when it is first asked for."""
        found = self.bases.get(value)
        if found is None:
            found = self._new_base(value)
            if found is not None:
                self.bases[value] = found
        return found

    def _new_base(self, value: Value) -> View | None:
        node = value.node
        if node.operation == "input":
            return self.input_view(node.get("kind"), node.get("name"), value.type)
        if node.operation == "table":
            return self.dense(value.type, "temp", constant=_table(node))
        if node.operation in LEAVES:
            return None
        if value in self.stored or node.operation in PLACED or not is_compute(node):
            return self.dense(value.type)
        return None

    def place(self, value: Value) -> View | None:
        """The place of a value, or None: it is not stored, or strides cannot say it."""
        if value.node.operation not in MOVES:
            return self.base_view(value)
        if value not in self.places:
            below = self.place(value.node.operands[0])
            self.places[value] = None if below is None else moved(value.node, below)
        return self.places[value]

    def as_if(self, value: Value) -> View | None:
        """Where a value would lie if what it is a view of were stored."""
        node = value.node
        if node.operation not in MOVES:
            type = value.type
            return self.bases.get(value) or View(
                -1, type.dtype, type.shape, dense_strides(type.shape)
            )
        below = self.as_if(node.operands[0])
        return None if below is None else moved(node, below)


def _table(node: Node) -> Any:
    """A table's data as an array of its dtype."""
    import numpy as np

    from ..ir.types import numpy_dtype

    type = node.types[0]
    return np.array(node.get("values")).astype(numpy_dtype(type.dtype)).reshape(type.shape)
