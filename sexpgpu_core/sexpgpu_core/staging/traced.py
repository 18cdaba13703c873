"""What tracing gives to the phases after it: graphs with the tables of what they name.

Names in a graph: an `input` of kind K named N is the persistent value "K:N"; fields, scalars and
results are named as below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir.graph import Graph, Value
from ..ir.types import Type
from ..records import NamedTuple
from ..spans import Span


class Parameter(NamedTuple):
    """A parameter. `init` is an `initialize.Initializer`; `path` as gpt/h/3/mlp/up/w."""

    path: str
    type: Type
    init: Any
    trainable: bool
    span: Span | None
    uses: int  # how often `defparam` gave it: 2 and more where calls share


class State(NamedTuple):
    """A model state. `combine`: mean delta sum max min concat (45.3, R37).

    `rows`: of a state that each row of the batch has its own of (R3), the name of its values in
    this program; `type` has the rows of a block in front. `installed`: a layer of an installed
    module has it, that `span` calls."""

    path: str
    type: Type
    init: Any
    combine: str
    span: Span | None
    rows: str = ""
    set: bool = False  # whether a setf of it stands in what was traced
    installed: bool = False


class Metric(NamedTuple):
    """A reported number. `kind`: mean (results metric:NAME:sum and :weight), sum max min (:value).

    `finish`: names of functions of one float, applied in order to what was combined ("exp").
    """

    name: str
    kind: str
    unit: str | None
    finish: tuple[str, ...]
    span: Span | None


class Ratio(NamedTuple):
    """A weighted mean that a loss is made of: `node` is total / weight, or 0 where the weight is.

    In a step of several blocks the weight is the sum over all of them (45.1.1). In a graph its
    values are results, so that they are found again when nodes were rewritten."""

    node: Value
    total: Value
    weight: Value

    def results(self, number: int) -> dict[str, Value]:
        return {f"ratio:{number}:{name}": getattr(self, name) for name in self._fields}


EMPTY_BLOCK, EMPTY_STEP = "empty:block", "empty:step"
"""Results of a traced stage: how many weight sums are 0 that no ratio has, of a block and of what
no example reaches."""


def ratios_of(graph: Graph) -> list[Ratio]:
    """Those of a traced graph, in order."""
    numbers = [name.split(":")[1] for name in graph.results if name.endswith(":node")]
    names = Ratio._fields
    return [Ratio(*(graph.results[f"ratio:{n}:{name}"] for name in names)) for n in numbers]


class Written(NamedTuple):
    """A value that the file names by `(diagnostic name x)`; `name` begins with the scope's path."""

    name: str
    value: Value
    reduce: str
    span: Span | None


class Trips(NamedTuple):
    """A loop of known length: its body, and its operands in the graph around it, by name."""

    body: Graph
    operands: Mapping[str, Value]
    length: int
    reverse: bool


class Looped(NamedTuple):
    """A value of a body, as the loops around it would stack it. `trips`: the outermost first."""

    value: Value
    trips: tuple[Trips, ...]

    @property
    def type(self) -> Type:
        dtype, shape = self.value.type
        return Type(dtype, (*(t.length for t in self.trips), *shape))


class Inside(NamedTuple):
    """The body of the function of a builtin, `what`. `trips`: as in Looped; None: no such loop."""

    graph: Graph
    what: str
    trips: tuple[Trips, ...] | None


class Watched(NamedTuple):
    """What of a traced graph may be observed. Nothing here is a result, so it costs no node."""

    outputs: Mapping[str, Value | Looped]  # of models, by the path of the call's scope
    written: tuple[Written, ...]
    bodies: tuple[Inside, ...] = ()
    hidden: Mapping[str, str] = {}  # scope -> the builtin whose function hides what it gives


UNWATCHED = Watched({}, ())


class Traced(NamedTuple):
    """One traced program: a training stage, or a pass.

    Results of `graph`: "loss" or "loss:NAME" each (f32 or f64 scalars; a pass has none),
    "metric:NAME:sum" and "metric:NAME:weight", or "metric:NAME:value" (f32 scalars, or f64),
    "proposal:PATH" (next value of a state, training mode only), "ratio:I:node", "ratio:I:total"
    and "ratio:I:weight" of each weighted mean that the losses are made of (see Ratio),
    "empty:block" and "empty:step" (f32 scalars, where other weight sums may be 0), "over:I" (what
    a pass gathers of a batch; inputs of kind "over" and that name are the whole of it).
    """

    graph: Graph
    loader: str
    stage: str
    rows: int  # of the block that was traced: b
    losses: tuple[str, ...]  # result names: ("loss",) or ("loss:critic", ...)
    metrics: tuple[Metric, ...]
    parameters: Mapping[str, Parameter]  # by path, in order of first use
    states: Mapping[str, State]
    fields: Mapping[str, Type]  # the batch inputs that the graph reads
    scalars: Mapping[str, Any]  # canonical text -> tree (ir.scalars)
    sites: tuple[str, ...]  # of random nodes
    summed: frozenset[str] = frozenset()  # losses that are sums over the batch, not means
    watched: Watched = UNWATCHED
    proved: tuple[str, ...] = ()  # which positions are read, in words
    files: Mapping[str, Any] = {}  # input's name -> FileTensor
    gathered: Mapping[str, Type] = {}  # of a pass: result -> its type over all examples (R22)
    averages_at: Span | None = None  # the first (with-weights :ema ...)


class TracedOutput(NamedTuple):
    """One traced output. Results of `graph`: "output:NAME" each, and metrics as a pass has them.

    `fed`: states of rows by the name that they are given and returned by, "state/PATH"."""

    graph: Graph
    name: str
    loader: str
    rows: int | None  # of the loader's fields; None where it reads none
    axes: Mapping[str, int | None]  # result -> the axis of rows: NONE is None, -1 is mixed
    metrics: tuple[Metric, ...]
    parameters: Mapping[str, Parameter]
    states: Mapping[str, State]
    fields: Mapping[str, Type]  # of the loader, rows in front, that the graph reads
    own: Mapping[str, Type]  # fields with a type of their own, given whole
    scalars: Mapping[str, Any]
    files: Mapping[str, Any] = {}
    fed: Mapping[str, State] = {}

    def given(self) -> dict[str, Type]:
        """What a launch is given, by name."""
        read = {n.get("name") for n in self.graph.inputs() if n.get("kind") == "batch"}
        states = {name: state.type for name, state in self.fed.items() if name in read}
        return {**self.fields, **self.own, **states}


class OptimizerState(NamedTuple):
    """One state of one parameter; its persistent name is "optimizer:PATH/NAME"."""

    name: str
    type: Type
    init: float  # every element


class Update(NamedTuple):
    """How a group updates a parameter of one shape and dtype.

    Inputs of `body` (graph inputs, by name): "param" and "grad" (kind parameter), each state by
    its name (kind optimizer), and step scalars (kind scalar). Results: "param" and each state.
    """

    body: Graph
    inputs: tuple[str, ...]  # "param", "grad", then states, in order; scalars are not in it
    scalars: Mapping[str, Any]  # canonical text -> tree
    states: tuple[OptimizerState, ...]


class Group(NamedTuple):
    """A row of the optimizer's table. `facts`: hyperparameters as text, as ("lr", "0.001")."""

    name: str  # of the optimizer: adamw; "frozen" where nothing is trained
    paths: tuple[str, ...]
    frozen: bool
    dtype: str | None  # :frozen :dtype
    loss: str | None
    every: int
    offset: int
    facts: tuple[tuple[str, str], ...]
    lr: Any  # a tree of ir.scalars or a number; None where there is none
    span: Span | None
    decays: bool = False  # whether a weight decay is written


class Optimization(NamedTuple):
    """The optimizer of one stage. `clip_norm`, `clip_value`, `ema`: None, a number or a tree."""

    groups: tuple[Group, ...]
    group_of: Mapping[str, int]  # path -> index in `groups`
    updates: Mapping[str, Update]  # path -> update; paths of one group, shape and dtype share it
    clip_norm: Any
    clip_value: Any
    ema: Any
    ema_state: bool
    scalars: Mapping[str, Any]  # all trees that updates and options read, by canonical text

    def kept(self, parameters: Mapping[str, Parameter]) -> dict[str, str]:
        """Dtypes of frozen parameters that are kept in another than they are declared in (R34)."""
        said = {path: g.dtype for g in self.groups if g.dtype is not None for path in g.paths}
        return {path: d for path, d in said.items() if parameters[path].type.dtype != d}
