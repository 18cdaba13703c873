"""One operation as a row: what `ir.operation.Operation` asks, from the functions of a family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Cost, Dependence, Fusion, Precision
from ..types import Type
from .attributes import ATTRIBUTES, Names
from .examples import EXAMPLES

if TYPE_CHECKING:
    from ..builder import Builder

Types = tuple[Type, ...]
NARROW = ("bf16", "f16")
Infer = Callable[["Op", Types, Attributes], Types]
Cotangents = tuple[Value | None, ...]
Gradient = Callable[["Builder", Node, Any], Cotangents]
"""(builder, node, cotangent) -> a cotangent an operand. A node of several results gets a tuple."""
Expand = Callable[["Builder", Node], tuple[Value, ...]]
Depends = Callable[[Types, Types, Attributes], tuple[tuple[int, int, int, str], ...]]


def element_cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    """One operation an element of the first result."""
    moved = sum(t.bytes for t in operands), sum(t.bytes for t in results)
    return Cost(results[0].size, *moved)


def move_cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    """Bytes only."""
    return Cost(0, sum(t.bytes for t in operands), sum(t.bytes for t in results))


def unknown_dependence(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    """Nothing is known: every result element may depend on every operand element."""
    return ()


class Op:
    """A frozen row. `scalar`: the name of the scalar operation, if it works element by element.

    gradient: a function; "zero" (silently none); "none" (E-GRADIENT if a parameter needs it);
    "body" (autodiff makes it of the body's).
    Without one an operation that expands is differentiated through its expansion.
    `raw`: the reference takes 16-bit floats as they are, not widened to f32.
    """

    __slots__ = (
        "_cost",
        "_depends",
        "_expand",
        "_gradient",
        "_infer",
        "attributes",
        "commutative",
        "doc",
        "family",
        "fusion",
        "name",
        "precision",
        "random",
        "raw",
        "scalar",
    )

    def __init__(
        self,
        name: str,
        family: str,
        fusion: Fusion,
        precision: Precision,
        infer: Infer,
        doc: str,
        gradient: Gradient | str | None = None,
        expand: Expand | None = None,
        cost: Callable[[Types, Types, Attributes], Cost] = element_cost,
        depends: Callable[
            [Types, Types, Attributes], tuple[tuple[int, int, int, str], ...]
        ] = unknown_dependence,
        scalar: str | None = None,
        commutative: bool = False,
        random: bool = False,
        raw: bool = False,
    ) -> None:
        self.name = name
        self.attributes = ATTRIBUTES.get(name, Names())
        self.family = family
        self.fusion = fusion
        self.precision = precision
        self.doc = doc
        self.scalar = scalar
        self.commutative = commutative
        self.random = random
        self.raw = raw
        self._infer = infer
        self._gradient = gradient
        self._expand = expand
        self._cost = cost
        self._depends = depends

    @property
    def differentiable(self) -> str:
        """ "yes", "zero", "none", "body", or "expand": through the expansion."""
        if isinstance(self._gradient, str):
            return self._gradient
        if self._gradient is None:
            return "none" if self._expand is None else "expand"
        return "yes"

    def infer(self, operands: Types, attributes: Attributes) -> Types:
        """Types of the results. Raises Problem."""
        try:
            return self._infer(self, operands, attributes)
        except KeyError as missing:
            raise problem("E-CALL-KEYWORD", f"{self.name} without attribute {missing}") from None

    def gradient(self, b: Builder, node: Node, out: Cotangents) -> Cotangents:
        """Cotangents of the operands; None is zero. Raises E-GRADIENT where there is none."""
        kind = self._gradient
        if kind is None or kind == "none":
            raise problem("E-GRADIENT", f"{self.name} has no gradient", operation=self.name)
        if isinstance(kind, str) or all(g is None for g in out):
            return (None,) * len(node.operands)
        return kind(b, node, out if len(out) > 1 else out[0])

    def reference(
        self, operands: tuple[Any, ...], attributes: Attributes, types: Types
    ) -> tuple[Any, ...]:
        """The results as NumPy arrays of `types`. NotImplementedError: see `expand`."""
        from .reference import evaluate

        return evaluate(self, operands, attributes, types)

    def cost(self, operands: Types, attributes: Attributes) -> Cost:
        """FLOPs, bytes read and written."""
        return self._cost(operands, self.infer(operands, attributes), attributes)

    def depends(self, operands: Types, attributes: Attributes) -> Dependence:
        """Axis relations of every result; a pair that is not listed is "all"."""
        results = self.infer(operands, attributes)
        return Dependence(self._depends(operands, results, attributes))

    def expand(self, b: Builder, node: Node) -> tuple[Value, ...] | None:
        """The same results in primitives, or None for a primitive. Parts of a composite are f32
        where it is 16 bits wide: it is rounded once, at its end (30, "Precision")."""
        if self._expand is None:
            return None
        parts_are_rounded = self.fusion is Fusion.LIBRARY or self.precision is Precision.EXACT
        if parts_are_rounded or not any(v.dtype in NARROW for v in node.operands):
            return self._expand(b, node)
        given = [b("cast", v, dtype="f32") if v.dtype in NARROW else v for v in node.operands]
        operands, attributes = tuple(given), dict(node.attributes)
        types = self.infer(tuple(v.type for v in operands), attributes)
        wide = Node(self.name, operands, node.attributes, types, node.policy, node.copy, -1)
        return tuple(
            v if v.dtype == t.dtype else b("cast", v, dtype=t.dtype)
            for v, t in zip(self._expand(b, wide), node.types)
        )

    def __repr__(self) -> str:
        return f"<operation {self.name}>"


def table(*groups: list[Op]) -> dict[str, Op]:
    """Operations by name, each with its example in its doc; a name that stands twice is a bug."""
    found: dict[str, Op] = {}
    for group in groups:
        for op in group:
            assert op.name not in found, op.name
            op.doc += f"\n\nExample: {EXAMPLES[op.name]}"
            found[op.name] = op
    return found


def composite(
    name: str,
    infer: Infer,
    doc: str,
    gradient: Gradient | None,
    expand: Expand,
    cost: Callable[[Types, Types, Attributes], Cost],
    depends: Callable[[Types, Types, Attributes], tuple[tuple[int, int, int, str], ...]],
) -> Op:
    """An operation over inner axes that is differentiated and expands: softmax, layer norm."""
    doc += " Gradient: yes."
    return Op(name, "", Fusion.REDUCE, Precision.FULL, infer, doc, gradient, expand, cost, depends)
