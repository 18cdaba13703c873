"""Regions of a trace: the graph of the step itself, and of each function that is a body in it.

What a body uses of the graphs around it becomes an input of the body, a capture; constants are
made anew. So a body is a graph of its own and says all that it depends on.
"""

from __future__ import annotations

from ..diagnostics import problem
from ..ir.builder import Builder
from ..ir.graph import Value as Node
from ..records import NamedTuple
from ..spans import Span
from .dependence import NONE, NUMBER_OF_ROW, ROW, BatchAxes
from .traced import Trips

NUMBER = "x:trip"
TRIAL = "trial"
"""What a region is for in which a call is made again, to see whether a repair fits."""
REMADE = frozenset(("constant", "iota"))
"""Leaves that cost nothing in a body."""


class Weighed(NamedTuple):
    """Weighted means of a region: `values` are what they reach, all of which count if one does;
    `empty` says which have weights that sum to 0, a bool a mean, or their numbers in trips."""

    values: tuple[Node, ...]
    empty: Node


class Region:
    """One graph being traced. `what`: the builtin whose function it is. `captures`: values of the
    region around it by name, in the order of their first use, numbered from `first`. `length`: how
    many trips a loop makes; `rows`: they count as rows of the batch (R1). `batch`: batch axes of
    the inputs that are no captures, where there are `examples` (how many). `span`: of the builtin's
    call. `trips`: once it is a loop of the region around it, what it goes over. `weighed`: weighted
    means by their own value, those of loops by their count."""

    __slots__ = (
        *("_known", "batch", "builder", "captures", "examples", "first", "length", "outside"),
        *("rows", "span", "trips", "weighed", "what"),
    )

    def __init__(
        self,
        builder: Builder,
        outside: Region | None = None,
        what: str = "",
        first: int = 0,
        span: Span | None = None,
        examples: int | None = None,
    ) -> None:
        self.builder = builder
        self.outside = outside
        self.what = what
        self.span = span
        self.first = first
        self.examples = examples
        self.length: int | None = None
        self.trips: Trips | None = None
        self.rows = False
        self.batch: dict[str, int] = {}
        self.captures: dict[str, Node] = {}
        self.weighed: dict[tuple[int, int], Weighed] = {}
        self._known: dict[tuple[int, int], Node] = {}

    def reach(self, value: Node, home: Region) -> Node:
        """A value of a region around this one, as a value of this one; E-STAGE-ESCAPE for one of
        a region that is closed."""
        if home is self:
            return value
        if self.outside is None:
            raise problem(
                "E-STAGE-ESCAPE",
                f"a tensor of the function of {home.what} is used outside of it",
                hint=f"return it from the function: {home.what} gives its values back",
            )
        return self._capture(self.outside.reach(value, home))

    def _capture(self, outer: Node) -> Node:
        if outer.node.operation in REMADE:
            return self.builder(outer.node.operation, **dict(outer.node.attributes))
        key = outer.node.id, outer.result
        found = self._known.get(key)
        if found is None:
            name = f"capture:{self.first + len(self.captures)}"
            found = self.builder.input(name, "body", outer.dtype, outer.shape)
            self._known[key] = found
            self.captures[name] = outer
        return found

    def trip(self) -> Node | None:
        """The linear number of the trip over the loops around, rows of a `map-over` apart; None
        outside of loops."""
        return self._number(False)

    def row(self) -> Node | None:
        """The number of the trip that counts as the row; None where none does."""
        return self._number(True)

    def _number(self, rows: bool) -> Node | None:
        around = None if self.outside is None else self.outside._number(rows)
        outer = None if around is None else self._capture(around)
        if self.length is None or self.rows != rows:
            return outer
        b = self.builder
        own = b.input(self.number, "body", "i32", ())
        if outer is None:
            return own
        return b("add", b("multiply", outer, b.constant(self.length, "i32")), own)

    def around(self) -> tuple[Trips, ...] | None:
        """The loops that this region is in, the outermost first; None where one of the regions
        is no loop of known length."""
        if self.outside is None:
            return ()
        outer = self.outside.around()
        return None if outer is None or self.trips is None else (*outer, self.trips)

    @property
    def hiding(self) -> str:
        """The innermost builtin whose function is no loop of known length."""
        return self.what if self.trips is None or self.outside is None else self.outside.hiding

    @property
    def number(self) -> str:
        """The name of the input that has the number of the trip."""
        return NUMBER_OF_ROW if self.rows else NUMBER

    @property
    def counted(self) -> bool:
        """Whether the body asks for the number of the trip."""
        return any(n.get("name") == self.number for n in self.builder.graph.inputs())

    def axes(self, given: set[tuple[int, int]] | None = None) -> BatchAxes:
        """Where the batch axes of this region's values are. `given`: see `BatchAxes`."""
        b = self.builder
        return BatchAxes(b.operations, given or (), b.graph.bodies, self._input_axis, self.examples)

    def _input_axis(self, name: str) -> int:
        if name in self.captures and self.outside is not None:
            return self.outside.axes().of(self.captures[name])
        return ROW if name == NUMBER_OF_ROW else self.batch.get(name, NONE)
