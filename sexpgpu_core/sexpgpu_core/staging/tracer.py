"""One trace: the graph being built, its scopes, parameters, states and metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..diagnostics import Problem, Related, problem
from ..evaluator import machine
from ..evaluator.spending import limits
from ..evaluator.values import Value
from ..ir import scalars
from ..ir.builder import Builder
from ..ir.graph import Node as IrNode
from ..ir.graph import Origin
from ..ir.graph import Value as Node
from ..ir.operation import Operations
from ..ir.types import FLOATS, Type
from ..spans import Span
from .context import Context
from .origins import called_from_file, installed
from .regions import Region
from .scopes import Scope, join
from .tensor import FileTensor, Handle, StepScalar, Tensor
from .traced import Inside, Looped, Parameter, State, Watched, Written


class Tracer:
    """Appends to one graph while a contract function is called.

    `part`: prepare, objective, evaluate, optimizer or init. `rows`: size of the batch axis, None
    without.
    """

    def __init__(self, operations: Operations, context: Context, rows: int | None) -> None:
        self.builder = Builder(operations, origin=self._origin, limit=limits().nodes)
        self.root = self.region = Region(self.builder, examples=rows)
        self.checkpoints = 0
        self.context = context
        self.full = context.full
        self.training = context.place == "O"  # whether a loss is traced that a step minimises
        self.rows = rows
        self.part = "objective"
        self.mode = str(context.values.get("mode", ":train"))
        self.scopes = [Scope(root=True)]
        self.openings: dict[str, int] = {}  # scope path -> how often it was opened
        self.loops: dict[int, Any] = {}  # source -> its loops, see unnamed.py
        self.bound: list[tuple[str, dict[str, int], Span]] = []  # scope, what bind-shape bound
        self.parameters: dict[str, Parameter] = {}
        self.states: dict[str, State] = {}
        self.proposals: dict[str, Node] = {}
        self.files: dict[str, FileTensor] = {}  # by the input's name
        self.scalars: dict[str, scalars.Tree] = {}
        self.scalar_dtypes: dict[str, str] = {}
        self.sites: dict[str, None] = {}
        self.metrics: list[Any] = []  # metrics.Reported
        self.written: dict[str, Written] = {}
        self.outputs: dict[str, tuple[Node, Region]] = {}  # of models, by the scope's path
        self.regions: list[Region] = []  # of functions of builtins
        self.proved: list[str] = []  # what is known of which positions are read, in words
        self.frozen = 0
        self.replacements: list[Any] = []  # replacing.Replacement, the innermost last
        self.weights = "live"  # or ema, inside (with-weights :ema ...)
        self.averages_at: Span | None = None  # the first of these
        self.kept: Mapping[str, str] = {}  # path -> the dtype in which a parameter is kept
        self.averaged: frozenset[str] | None = None  # paths that have an average; None: not known
        self.program = self.stage = ""  # the stage or pass that is traced, and the stage it reads
        self.order = "shuffled"
        self.whole_rows: int | None = None  # rows of a whole batch, where this one is a short one
        self.fed = False  # whether states of rows are given and returned, as an output's are
        self.examples: int | None = None  # of the pass that is traced
        self.gathered: dict[str, Node] = {}  # what over-pass gathers, by its input's name
        self.means: dict[tuple[int, int], tuple[Node, Node | int]] = {}  # see metrics.py
        self.weighed: dict[int, Node] = {}  # what a weighted-mean weighs by, by its node
        self.per_block: set[tuple[int, int]] = set()  # values meant over a block (R2)
        self.asked: Span | None = None  # who asked for what is traced after its call
        self.optimizer: Any = None  # optimize.Body while an update is traced

    def _origin(self, _: IrNode) -> Origin:
        """The file's place, also of what an installed module makes; the scope says where inside."""
        expansion = tuple(machine.current().expansion or ())
        return Origin(called_from_file(self.asked), self.scopes[-1].path, expansion)

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    # Values ------------------------------------------------------------------------------------
    def tensor(self, node: Node) -> Tensor:
        return Tensor(node, self, self.region)

    def wide(self, dtype: str) -> str:
        """What a dtype that the file says, or means by saying none, is: its f32 is the run's
        :precision :f64, where it has that."""
        return self.full if dtype == "f32" else dtype

    def widened(self, node: Node) -> Node:
        """Data of f32, in a run of f64."""
        wide = self.wide(node.dtype)
        return node if wide == node.dtype else self.root.builder("cast", node, dtype=wide)

    def node(self, value: Value) -> Node:
        """The node of a tensor, handle or array of a file; E-STAGE-ESCAPE for another graph's."""
        if value.__class__ is Tensor:
            if value.tracer is not self:
                raise problem(
                    "E-STAGE-ESCAPE",
                    f"{value.describe()} was made in another trace",
                    hint="a tensor lives in one trace: pass it as an argument, or make it anew",
                )
            return self.region.reach(value.value, value.region)
        b, dtype = self.root.builder, self.wide(value.type.dtype)
        if value.__class__ is FileTensor:
            file = value.in_dtype(dtype)
            self.files[file.name] = file
            return self.region.reach(b.input(file.name, "constant", *file.type), self.root)
        assert value.__class__ is Handle
        made = b("table", dtype=dtype, shape=value.shape, values=value.in_dtype(dtype))
        return self.region.reach(made, self.root)

    def files_read(self) -> dict[str, FileTensor]:
        """Arrays of files that the graph itself reads, by their inputs' names."""
        names = [str(n.get("name")) for n in self.root.builder.graph.inputs()]
        return {n: self.files[n] for n in names if n in self.files}

    @contextmanager
    def inside(self, what: str, first: int = 0) -> Iterator[Region]:
        """A region for the function of a builtin; its graph is a body of the one around it."""
        around = self.region
        builder = Builder(
            around.builder.operations, origin=self._origin, limit=around.builder.limit
        )
        builder.policy = self.builder.policy
        evaluator = machine.current()
        form = evaluator.call_form
        self.region = Region(builder, around, what, first, evaluator.call_span, self.rows)
        self.builder = builder
        self.regions.append(self.region)
        try:
            yield self.region
        finally:
            self.region, self.builder = around, around.builder
            evaluator.call_form = form  # what comes next belongs to the builtin's call

    def in_step(self, what: str) -> None:
        """E-STAGE-ESCAPE inside the function of a scan and the like, whose graph is a body."""
        if self.region is not self.root:
            raise problem(
                "E-STAGE-ESCAPE",
                f"{what} stands in the function of {self.region.what}",
                hint=f"return the value from the function, and use {what} outside of it",
            )

    def scalar(self, step_scalar: StepScalar, dtype: str) -> Node:
        """A step scalar where it meets a tensor: an input, rounded once to the dtype.

        A name has one dtype in a graph: for another the tree is a sum of itself alone.
        """
        tree = step_scalar.tree
        name = scalars.text(tree)
        while self.scalar_dtypes.setdefault(name, dtype) != dtype:
            tree = ("+", tree)
            name = scalars.text(tree)
        self.scalars[name] = tree
        return self.region.reach(self.root.builder.input(name, "scalar", dtype, ()), self.root)

    # Scopes ------------------------------------------------------------------------------------
    @contextmanager
    def open(self, name: str | None, default: str) -> Iterator[Scope]:
        """A scope below the current one, for one call."""
        child = self.scope.child_name(name, default)
        yield from self._opened(join(self.scope.path, child), join(self.scope.site, child))

    @contextmanager
    def open_path(self, path: str, site: str) -> Iterator[Scope]:
        """The scope of an instance, wherever the call stands."""
        yield from self._opened(path, site)

    def _opened(self, path: str, site: str) -> Iterator[Scope]:
        count = self.openings[site] = self.openings.get(site, 0) + 1
        scope = Scope(path, site if count == 1 else f"{site}@{count}")
        self.scopes.append(scope)
        try:
            yield scope
        finally:
            self.scopes.pop()

    # Observed values ------------------------------------------------------------------------------
    def gave(self, value: Value) -> None:
        """Notes what the model whose scope is open gives."""
        if value.__class__ is Tensor and value.dtype in FLOATS:
            self.outputs[self.scope.site] = value.value, value.region

    @property
    def watched(self) -> Watched:
        outputs: dict[str, Node | Looped] = {}
        hidden = {}
        for path, (node, region) in self.outputs.items():
            around = region.around()
            if around is None:
                hidden[path] = region.hiding
            else:
                outputs[path] = Looped(node, around) if around else node
        bodies = [Inside(r.builder.graph, r.hiding or r.what, r.around()) for r in self.regions]
        return Watched(outputs, tuple(self.written.values()), tuple(bodies), hidden)

    # Parameters and states -----------------------------------------------------------------------
    def _claim(self, name: str, what: str) -> str:
        path = join(self.scope.path, name)
        if self.part in ("prepare", "init"):
            where = "prepare" if self.part == "prepare" else "an :init"
            raise problem(
                "E-STAGE-OUTSIDE",
                f"the {what} {path} stands in {where}",
                hint=f"parameters belong to models and objective: {where} has no gradient",
                path=path,
            )
        if name in self.scope.made and not self.scope.root:
            raise self._twice(path)
        self.scope.made.add(name)
        return path

    def _twice(self, path: str) -> Problem:
        known = self.parameters.get(path) or self.states.get(path)
        first = (Related("first made here", known.span),) if known and known.span else ()
        return problem(
            "E-PARAM-DUPLICATE",
            f"{path} is made twice in one scope",
            hint="another name for one of them; a model that is called twice takes a :name a call",
            related=first,
            path=path,
        )

    def parameter(self, name: str, type: Type, init: Any, trainable: bool) -> Tensor:
        """The parameter of a name in the open scope: made, or met again."""
        path = self._claim(name, "parameter")
        known, dtype = self.parameters.get(path), self.wide(type.dtype)
        type = Type(dtype, type.shape)
        if dtype in FLOATS and path in self.kept:
            type = Type(self.kept[path], type.shape)
        if known is None:
            known = Parameter(path, type, init, trainable, called_from_file(), 0)
        elif (known.type, known.init) != (type, init):
            raise self._unlike(known, type, init)
        self.parameters[path] = known._replace(uses=known.uses + 1)
        node = self._read_parameter(path, known)
        if node.dtype != dtype:
            node = self.root.builder("cast", node, dtype=dtype)
        return Tensor(node, self, self.root)

    def _unlike(self, known: Parameter | State, type: Type, init: Any) -> Problem:
        """What is met again is made in another way: from itself, or under a name that is taken."""
        cycle = self._cycle(known.path, init)
        if cycle:
            return problem(
                "E-INIT-CYCLE",
                f"initial values are computed from each other: {' from '.join(cycle)}",
                hint=f"give one of them a value of its own: {known.path} has {known.init}",
                cycle=cycle,
            )
        return problem(
            "E-PARAM-DUPLICATE",
            f"{known.path} is {known.type} with init {known.init}, and here {type} with {init}",
            hint="give one of the calls a :name of its own",
            path=known.path,
        )

    def _cycle(self, path: str, init: Any) -> list[str]:
        """Parameters from `path` by what their initial values read, back to it; [] if none do."""
        ways = [[path, other] for other in getattr(init, "others", ())]
        for way in ways:
            if way[-1] == path:
                return way
            known = self.parameters.get(way[-1])
            more = getattr(known.init, "others", ()) if known is not None else ()
            ways += [[*way, other] for other in more if other == path or other not in way]
        return []

    def _read_parameter(self, path: str, known: Parameter) -> Node:
        """The live value, or its average under `(with-weights :ema ...)` (R36)."""
        b, (dtype, shape) = self.root.builder, known.type
        averaged = self.averaged is None or path in self.averaged
        if self.weights == "ema" and known.trainable and averaged:
            return b("stop-gradient", b.input(path, "ema", dtype, shape))
        node = b.input(path, "parameter", dtype, shape)
        if self.frozen or not known.trainable or self.weights == "ema":
            return b("stop-gradient", node)
        return node

    def state(self, name: str, type: Type, init: Any, combine: str, per_row: bool = False) -> str:
        """The path of the state of a name in the open scope. `per_row`: the rows stand in front of
        `type`."""
        path = self._claim(name, "state")
        known = self.states.get(path)
        if known is not None and (known.type, known.init) != (type, init):
            raise self._unlike(known, type, init)
        if known is None:
            at, span = machine.current().call_span, called_from_file()
            rows = f"{'state' if self.fed else self.program}/{path}" if per_row else ""
            known = State(path, type, init, combine, span, rows)
            self.states[path] = known._replace(installed=at is not None and installed(at))
        return path

    def read_state(self, path: str) -> Tensor:
        """A state's value: the last one set in this trace, else the step's."""
        proposed = self.proposals.get(path)
        if proposed is None:
            proposed = self.root.builder("stop-gradient", self._kept(self.states[path]))
        return Tensor(proposed, self, self.root)

    def _kept(self, state: State) -> Node:
        """What the step before left. Rows of their own begin anew with an epoch and with a pass."""
        b, (dtype, shape) = self.root.builder, state.type
        if not state.rows:
            averaged = self.weights == "ema" and state.path in (self.averaged or ())
            return b.input(state.path, "ema" if averaged else "state", dtype, shape)
        if self.fed:
            return b.input(state.rows, "batch", dtype, shape)
        whole = (self.whole_rows or shape[0], *shape[1:])
        node = b.input(state.rows, "rows", dtype, whole)
        if whole != shape:
            begin, step = (0,) * len(shape), (1,) * len(shape)
            node = b("slice", node, starts=begin, stops=shape, steps=step)
        key = "epoch-progress" if self.context.place == "O" else "position"
        at = self.scalar(StepScalar(("ctx", key)), self.full)
        first = b("equal", at, b.constant(0.0, self.full))
        return b("where", first, b.constant(state.init.numbers[0], dtype, shape), node)

    def set_state(self, path: str, node: Node) -> None:
        """Propose a state's next value; in evaluation mode only of rows, for the pass."""
        state = self.states[path] = self.states[path]._replace(set=True)
        type = state.type
        if self.region is not self.root:
            raise problem(
                "E-STATE-SET",
                f"{path} is set in the function of {self.region.what}, whose trips are many",
                hint="return the value from the function, and set the state outside of it",
                path=path,
            )
        if node.node.types[node.result] != type:
            found = node.node.types[node.result]
            raise problem("E-STATE-SET", f"{path} is {type}, the value {found}", path=path)
        if self.mode == ":train" or (state.rows and self.context.place in ("E", "U")):
            self.proposals[path] = self.builder("stop-gradient", node)

    # Random numbers ------------------------------------------------------------------------------
    def site(self, operation: str, name: str | None) -> str:
        found = self.scope.next_site(operation, name)
        self.sites[found] = None
        return found
