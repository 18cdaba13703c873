"""`:init` as a tensor: what its form makes, as a graph of its own that gives a parameter's or a
state's value at step 0 (R15). Random numbers in it are drawn in domain `init`, in f32, on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem
from ..evaluator.values import Value, first_value
from ..ir.builder import Builder
from ..ir.graph import Graph, Node
from ..ir.graph import Value as Result
from ..ir.hash import graph_hash
from ..ir.operation import Operations
from ..ir.types import FLOATS, Type, numpy_dtype
from .faults import describe
from .host import tracer
from .initialize import initializer_of
from .promote import node_of
from .scopes import Scope, join
from .syntax import Slot
from .table import tensor_builtin
from .tensor import FileTensor, Tensor, is_tensor
from .tracer import Tracer

if TYPE_CHECKING:
    import numpy as np

PREFIX = "initial:"
"""Before the path in the name of an input that is another parameter's initial value."""


class InitProgram:
    """Equal where the graphs are: what is met again has the same."""

    __slots__ = ("_operations", "digest", "files", "graph")

    def __init__(
        self, graph: Graph, operations: Operations, files: Mapping[str, FileTensor]
    ) -> None:
        self.graph = graph
        self.files = dict(files)
        self._operations = operations
        self.digest = graph_hash(graph, operations)

    @property
    def others(self) -> tuple[str, ...]:
        """Paths of the parameters whose initial values it reads."""
        names = [str(n.get("name")) for n in self.graph.inputs()]
        return tuple(n.removeprefix(PREFIX) for n in names if n.startswith(PREFIX))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InitProgram) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"(program {self.digest[:16]})"

    def value(self, type: Type, initial: Callable[[str], np.ndarray]) -> np.ndarray:
        """The array; `initial` gives the initial value of a parameter by path."""
        import numpy as np

        from ..ir.interpret import run

        names = [str(n.get("name")) for n in self.graph.inputs()]
        given = {
            n: self.files[n].load() if n in self.files else initial(n.removeprefix(PREFIX))
            for n in names
        }
        found = run(self.graph, given, self._operations)["value"]
        return np.asarray(found, numpy_dtype(type.dtype), order="C")


def init_of(t: Tracer, slot: Slot, name: str, type: Type) -> Any:
    """What `:init` gives; its form, a function in the slot, is called in a trace of its own."""
    before = t.builder, t.part, t.rows, t.region, t.root.builder
    t.builder = t.root.builder = Builder(t.builder.operations, origin=t.builder.origin)
    t.region = t.root
    t.part, t.rows = "init", None
    t.scopes.append(Scope(join(t.scope.path, name), join(t.scope.site, name)))
    try:
        value = first_value(slot.function().call())
        if not is_tensor(value):
            return initializer_of(value, name, slot.span)
        return _program(t, value, name, type)
    except Problem as fault:
        raise fault.locate(slot.span) from None
    finally:
        t.scopes.pop()
        t.builder, t.part, t.rows, t.region, t.root.builder = before


def _program(t: Tracer, value: Value, name: str, type: Type) -> InitProgram:
    if value.shape != type.shape:
        raise problem(
            "E-SHAPE-ARGUMENT", f":init of {name} is {describe(value)}, and {name} {type}"
        )
    if type.dtype not in FLOATS and value.dtype != type.dtype:
        raise problem(
            "E-DTYPE-MIX",
            f":init of {name} is {describe(value)}, and {name} {type}: their dtypes differ",
            hint=f"tensors are never promoted in silence: (cast x :{type.dtype})",
            dtypes=[value.dtype, type.dtype],
        )
    b = Builder(t.builder.operations)
    found = _copied(b, t.node(value), {})
    b.graph.results = {"value": found}
    names = {str(n.get("name")) for n in b.graph.inputs()}
    files = {name: file for name, file in t.files.items() if name in names}
    return InitProgram(b.graph, t.builder.operations, files)


def _copied(b: Builder, value: Result, known: dict[int, tuple[Result, ...]]) -> Result:
    """The value in a graph of its own, whichever graph it was made in."""
    waiting = [value.node]
    while waiting:
        node = waiting[-1]
        missing = [v.node for v in node.operands if id(v.node) not in known]
        if missing and id(node) not in known:
            waiting += missing
            continue
        waiting.pop()
        if id(node) not in known:
            known[id(node)] = _remade(b, node, known)
    return known[id(value.node)][value.result]


def _remade(b: Builder, node: Node, known: dict[int, tuple[Result, ...]]) -> tuple[Result, ...]:
    operands = [known[id(v.node)][v.result] for v in node.operands]
    attributes = dict(node.attributes)
    if node.operation == "input" and not _known_before(node):
        raise problem(
            "E-OPTION-VALUE",
            f":init reaches {attributes['name']}, which is not there before the first step",
            hint="another parameter's initial value is (initial p)",
        )
    if b.operations[node.operation].random:
        operands = [b.constant(0, "i32")]
        attributes |= {"domain": "init", "batch-axis": None, "row-offset": None}
    return b.several(node.operation, *operands, **attributes)


def _known_before(node: Node) -> bool:
    """Whether an input has its value before the first step."""
    return node.get("kind") == "constant" or str(node.get("name")).startswith(PREFIX)


@tensor_builtin("initial", "(p)")
def initial(p: Value) -> Tensor:
    """The initial value of another parameter, in `:init` only. F, shape of p, gradient 0.

    (initial enc)"""
    t = tracer("initial")
    if t.part != "init":
        raise problem(
            "E-STAGE-OUTSIDE",
            "initial stands outside of :init",
            hint="(defparam w (n m) :init (transpose (initial v)))",
        )
    node = node_of("initial", p, t).node
    if node.operation == "stop-gradient":  # a parameter that is not trained
        node = node.operands[0].node
    if node.operation != "input" or node.get("kind") != "parameter":
        raise problem("E-TYPE", f"initial of {describe(p)}: it takes a parameter")
    type = node.types[0]
    name = f"{PREFIX}{node.get('name')}"
    return t.tensor(t.builder.input(name, "persistent", type.dtype, type.shape))
