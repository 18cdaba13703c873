"""The device `reference`: the graph by its operations' NumPy references, a node at a time.

The oracle for every other device, so it is simple before it is fast. Verdict and commit mean what
they mean elsewhere: where the verdict is false no persistent value changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sexpgpu_core.device import (
    ArraySnapshot,
    DeviceFacts,
    Done,
    Outcome,
    Unit,
    World,
    check_fits,
)
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Builder, Graph, Node, Value
from sexpgpu_core.ir.operation import Operations
from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.passes.rebuild import rebuild
from sexpgpu_core.plan.plan import Persistent

from . import host

NEXT = "next:"
ALONE = World()


class ReferenceDevice:
    """Takes optimized graphs; has no library calls, so composites come expanded or with their
    own reference."""

    name = "reference"
    level = "graph"
    in_host_memory = True

    def __init__(self, operations: Operations | None = None) -> None:
        self._operations = operations

    def probe(self) -> DeviceFacts:
        return DeviceFacts(True, None, host.memory(), 1, ())

    def numerics(self) -> dict[str, str]:
        import numpy as np

        return {"device": "reference", "numpy": np.__version__}

    def library(self, operation: str) -> bool:
        return False

    def open(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        world: World = ALONE,
        threads: int = 0,
    ) -> ReferenceSession:
        return ReferenceSession(units, persistent, self._operations or _operations())


def _operations() -> Operations:
    from sexpgpu_core.ir.ops import OPERATIONS

    return OPERATIONS


class ReferenceSession:
    """Persistent values as a dict of arrays."""

    def __init__(
        self, units: Sequence[Unit], persistent: Persistent, operations: Operations
    ) -> None:
        import numpy as np

        self.values = {
            name: np.zeros(t.shape, numpy_dtype(t.dtype)) for name, t in persistent.types.items()
        }
        self._operations = operations
        self._programs = {
            u.name: ReferenceProgram(u.name, u.graph, operations, self.values) for u in units
        }

    def program(self, name: str) -> ReferenceProgram:
        return self._programs[name]

    def write(self, name: str, value: Any) -> None:
        """Copy a value in. TypeError where shape or dtype are not the layout's."""
        check_fits(name, value, self.values[name])
        self.values[name] = value.copy()

    def read(self, name: str) -> Any:
        return self.values[name].copy()

    def snapshot(self, names: Sequence[str]) -> ArraySnapshot:
        # Values are replaced and never changed in place, so no copy is needed.
        return ArraySnapshot({n: self.values[n] for n in names})

    def add(self, unit: Unit) -> bool:
        program = ReferenceProgram(unit.name, unit.graph, self._operations, self.values)
        self._programs[unit.name] = program
        return True

    def close(self) -> None:
        pass


class ReferenceProgram:
    """One graph over the session's values."""

    def __init__(
        self, name: str, graph: Graph, operations: Operations, values: dict[str, Any]
    ) -> None:
        self.name = name
        self._graph = _named_apart(graph, operations)
        self._operations = operations
        self._values = values
        self._inputs_of = [(n.get("kind"), n.get("name")) for n in graph.inputs()]

    def launch(self, batch: Mapping[str, Any], scalars: Mapping[str, float | int]) -> Done:
        from sexpgpu_core.ir.interpret import run

        try:
            found = run(self._graph, self._inputs(batch, scalars), self._operations)
        except Problem as fault:
            if fault.diagnostic.code != "E-RUN-INDEX":
                raise
            return Done(Outcome(False, {}, (0, 0)))
        following = {n.removeprefix(NEXT): v for n, v in found.items() if n.startswith(NEXT)}
        results = {n: v for n, v in found.items() if not n.startswith(NEXT)}
        committed = bool(results.get("verdict", True))
        if committed:
            self._values.update({n: v.copy() for n, v in following.items()})
        return Done(Outcome(committed, results))

    def _inputs(
        self, batch: Mapping[str, Any], scalars: Mapping[str, float | int]
    ) -> dict[str, Any]:
        import numpy as np

        found: dict[str, Any] = {}
        for kind, name in self._inputs_of:
            key = f"{kind}:{name}"
            if kind == "batch":
                found[key] = batch[name]
            elif kind == "scalar":
                found[key] = np.float64(scalars[name])
            else:
                found[key] = self._values[key]
        return found


def _named_apart(graph: Graph, operations: Operations) -> Graph:
    """Inputs named "KIND:NAME": a parameter and its EMA have one name."""

    def change(b: Builder, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        if node.operation != "input":
            return None
        kind, name = node.get("kind"), node.get("name")
        return (b.input(f"{kind}:{name}", kind, *node.types[0]),)

    return rebuild(graph, operations, change)


def load(options: Mapping[str, Any] | None = None) -> ReferenceDevice:
    """The factory that the plug-in's row names."""
    return ReferenceDevice()


def probe() -> dict[str, object]:
    return {"present": True, "detail": "NumPy"}
