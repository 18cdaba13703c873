"""The optimizer of a stage: groups, and an update graph a (group, shape, dtype) (R44)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..diagnostics import problem
from ..evaluator.evaluator import Evaluator
from ..evaluator.values import Function, Value, first_value
from ..ir import scalars
from ..ir.graph import Value as Node
from ..ir.operation import Operations
from ..ir.types import Type
from .context import Context
from .exact import is_number, show
from .faults import describe
from .forms.optimizers import GroupsValue, GroupValue, Optimizer
from .host import host
from .promote import operands
from .tensor import StepScalar, Tensor, tree_of
from .traced import Group, Optimization, OptimizerState, Parameter, Update
from .tracer import Tracer

NARROW = ("bf16", "f16")
"""A parameter of these is seen and computed with in f32, in a run of f64 in that."""


class Body:
    """One optimizer-update while it is traced: its states by name."""

    def __init__(
        self, t: Tracer, path: str, updates_key: str, state_dtype: str | None = None
    ) -> None:
        self.t = t
        self.path = path
        self.updates_key = updates_key
        self.state_dtype = state_dtype
        self.path_asked = False
        self.states: dict[str, OptimizerState] = {}
        self.values: dict[str, Node] = {}

    def asked_path(self) -> str:
        self.path_asked = True
        return self.path

    @contextmanager
    def keeping(self, state_dtype: str | None) -> Iterator[None]:
        """States that are made in it are kept as another optimizer says."""
        before, self.state_dtype = self.state_dtype, state_dtype
        try:
            yield
        finally:
            self.state_dtype = before

    def state(self, name: str, type: Type, init: float, said: bool) -> str:
        """A state of the parameter, made when its defstate runs. `said`: its dtype is its own.

        A bf16 state is read, computed with and set in f32; what is kept is rounded at random."""
        if name in self.states or name in ("param", "grad"):
            raise problem("E-OPTIMIZER-UPDATE", f"two states are called {name}")
        if not said and self.state_dtype == "bf16" and type.dtype == self.t.full:
            type = Type("bf16", type.shape)
        self.states[name] = OptimizerState(name, type, init)
        node = self.t.builder.input(name, "optimizer", type.dtype, type.shape)
        wide = self.t.full if type.dtype == "bf16" else type.dtype
        self.values[name] = _as(self.t, node, Type(wide, type.shape))
        return name

    def read(self, name: str) -> Tensor:
        return self.t.tensor(self.values[name])

    def write(self, name: str, value: Value) -> None:
        """(setf state value); a later read sees it."""
        type = self.states[name].type
        wide = Type(self.values[name].dtype, type.shape)
        node = operands("setf", (value,), dtype=wide.dtype)[1][0]
        if node.shape != type.shape and node.shape == ():
            node = self.t.builder("broadcast-to", node, shape=type.shape)
        if node.type != wide:
            raise problem("E-STATE-SET", f"the state {name} is {wide}, the value {node.type}")
        self.values[name] = node

    def kept(self) -> dict[str, Node]:
        """What the states are when the update is done, by name."""
        types = {name: state.type for name, state in self.states.items()}
        return {n: self.stored(n, node, types[n].dtype) for n, node in self.values.items()}

    def stored(self, name: str, node: Node, dtype: str) -> Node:
        """A value as it is kept: at random up or down where it is bf16."""
        if node.dtype == dtype or dtype != "bf16":
            return _as(self.t, node, Type(dtype, node.shape))
        from .state_rounding import rounded_at_random

        return rounded_at_random(self.t, node, f"{self.asked_path()}/{name}/kept")


def _as(t: Tracer, node: Node, type: Type) -> Node:
    return node if node.dtype == type.dtype else t.builder("cast", node, dtype=type.dtype)


def trace_groups(
    evaluator: Evaluator, operations: Operations, function: Function, context: Context,
    parameters: Mapping[str, Parameter], stage: str, losses: tuple[str, ...],
) -> Optimization:  # fmt: skip
    """Calls `optimizer`, sorts the parameters and traces the bodies. Runs inside the evaluator."""
    at = host()
    at.context = context
    try:
        value = first_value(function.call())
    finally:
        at.context = None
    if not isinstance(value, GroupsValue):
        raise problem(
            "E-CONTRACT",
            f"optimizer returns {describe(value)}, wants a groups value",
            hint="(groups (group :rest (optim:adamw :lr 1e-3)))",
        ).locate(function.span)
    value = _of_one_loss(value, losses)
    members = assign(value, parameters, stage, function)
    _check_losses(value, losses, function)
    found = _Tracing(operations, context, parameters, value, members).optimization()
    cycle(found)
    return found


def assign(
    value: GroupsValue, parameters: Mapping[str, Parameter], stage: str, function: Function
) -> list[list[str]]:
    """Paths of each group: the first that matches. E-GROUP-UNMATCHED, E-GROUP-EMPTY."""
    members: list[list[str]] = [[] for _ in value.groups]
    for parameter in parameters.values():
        if not parameter.trainable:
            continue
        for group, paths in zip(value.groups, members):
            if group.selector is None or group.selector.matches(parameter, stage):
                paths.append(parameter.path)
                break
        else:
            raise problem(
                "E-GROUP-UNMATCHED",
                f"{parameter.path} {parameter.type} is in no group",
                hint="end the groups with (group :rest ...)",
                path=parameter.path,
            ).locate(function.span)
    for group, paths in zip(value.groups, members):
        if not paths and not group.optional:
            from .group_mistakes import empty

            found = empty(group, members, parameters, stage)
            raise found.locate(group.span or function.span)
    return members


def _of_one_loss(value: GroupsValue, losses: tuple[str, ...]) -> GroupsValue:
    """With one named loss a group need not say it (R33)."""
    if len(losses) != 1 or not (name := losses[0].partition(":")[2]):
        return value
    said = [g if g.loss or g.optimizer is None else g._replace(loss=name) for g in value.groups]
    return value._replace(groups=tuple(said))


def _check_losses(value: GroupsValue, losses: tuple[str, ...], function: Function) -> None:
    names = {name.partition(":")[2] for name in losses} - {""}
    for group in value.groups:
        said = group.loss is not None or bool(names)
        if group.optimizer is not None and said and group.loss not in names:
            from .group_mistakes import no_loss

            raise no_loss(group, names)
    if not names:
        return
    unused = names - {g.loss for g in value.groups}
    if unused:
        raise problem(
            "E-LOSS-UNUSED",
            f"no group minimises {', '.join(sorted(unused))}",
            hint=f"a group with :loss :{min(unused)}, or (metric ...) for what is only reported",
        ).locate(function.span)


class _Tracing:
    """Traces what a group does to each kind of parameter it has."""

    def __init__(
        self, operations: Operations, context: Context, parameters: Mapping[str, Parameter],
        value: GroupsValue, members: list[list[str]],
    ) -> None:  # fmt: skip
        self.operations = operations
        self.context = context
        self.parameters = parameters
        self.value = value
        self.members = members
        self.scalars: dict[str, Any] = {}

    def optimization(self) -> Optimization:
        """The table, the updates by path, and every step scalar that they read."""
        updates: dict[str, Update] = {}
        for group, paths in zip(self.value.groups, self.members):
            if group.optimizer is not None:
                self._group(group, paths, updates)
        for tree in (self.value.clip_norm, self.value.clip_value, self.value.ema):
            if isinstance(tree, tuple):
                self.scalars[scalars.text(tree)] = tree
        v = self.value
        return Optimization(
            tuple(_row(g, tuple(m)) for g, m in zip(v.groups, self.members)),
            {path: i for i, paths in enumerate(self.members) for path in paths},
            {path: updates[path] for path in self.parameters if path in updates},
            v.clip_norm,
            v.clip_value,
            v.ema,
            v.ema_state,
            self.scalars,
        )

    def _group(self, group: GroupValue, paths: list[str], updates: dict[str, Update]) -> None:
        shared: dict[Type, Update] = {}
        optimizer = group.optimizer
        assert optimizer is not None
        _check_hyper(optimizer, self.context)
        own = cadence(group.every, group.offset)
        key = f"updates/{own}" if own else "updates"
        for path in paths:
            type = self.parameters[path].type
            found = shared.get(type)
            if found is None:
                found, path_asked = self._traced(optimizer, path, type, key)
                if not path_asked:
                    shared[type] = found
                self._lint(self.parameters[path], found, optimizer)
            updates[path] = found

    def _lint(self, parameter: Parameter, update: Update, optimizer: Optimizer) -> None:
        """W-PRECISION-UPDATE, once a kind of parameter."""
        hyper = dict(optimizer.hyper)
        if hyper.get("weight-decay", 0) == 0 and parameter.type.dtype not in NARROW:
            return
        from .resolution import warn_of_lost_updates

        warn_of_lost_updates(parameter, update, hyper, self._values)

    def _values(self, value: Any) -> list[float] | None:
        """A number or step scalar at steps over the whole run."""
        if is_number(value):
            return [float(value)]
        tree = value.tree if value.__class__ is StepScalar else value
        steps = self.context.values.get("steps")
        at = sorted({round(i * ((steps or 1) - 1) / 16) for i in range(17)} | {0, 1})
        found = [value_at(tree, step, steps) for step in at]
        return None if None in found else [v for v in found if v is not None]

    def _traced(self, optimizer: Optimizer, path: str, type: Type, key: str) -> tuple[Update, bool]:
        t = Tracer(self.operations, self.context, None)
        t.part, t.asked = "optimizer", optimizer.span
        body = t.optimizer = Body(t, path, key, optimizer.state_dtype)
        at = host()
        at.tracer = t
        try:
            wide = Type(t.full if type.dtype in NARROW else type.dtype, type.shape)
            param = _as(t, t.builder.input("param", "parameter", type.dtype, type.shape), wide)
            grad = t.builder.input("grad", "parameter", wide.dtype, type.shape)
            value = first_value(optimizer.body.call(t.tensor(param), t.tensor(grad)))
            new = body.stored("param", _new_parameter(t, optimizer, value, wide), type.dtype)
            kept = body.kept()
        finally:
            at.tracer = None
        graph = t.builder.graph
        graph.results = {"param": new, **kept}
        self.scalars.update(t.scalars)
        inputs = ("param", "grad", *body.states)
        update = Update(graph, inputs, dict(t.scalars), tuple(body.states.values()))
        return update, body.path_asked


def _new_parameter(t: Tracer, optimizer: Optimizer, value: Value, type: Type) -> Node:
    node = t.node(value) if isinstance(value, Tensor) else None
    if node is None or node.type != type:
        raise problem(
            "E-OPTIMIZER-UPDATE",
            f"{optimizer.name} gives {describe(value)} for a parameter {type}",
            hint="the last form of optimizer-update is the new parameter",
        ).locate(optimizer.span)
    return node


def _check_hyper(optimizer: Optimizer, context: Context) -> None:
    """E-SCHEDULE where a hyperparameter is not finite at the first or last step."""
    steps = context.values.get("steps")
    for name, value in optimizer.hyper:
        if value.__class__ is not StepScalar:
            continue
        for step in sorted({0, 1, max((steps or 1) - 1, 0)}):
            number = value_at(value.tree, step, steps)
            if number is not None and not math.isfinite(number):
                raise problem(
                    "E-SCHEDULE", f":{name} of {optimizer.name} is {number} at step {step}"
                ).locate(optimizer.span)


def value_at(tree: Any, step: int, steps: int | None) -> float | None:
    """A step scalar at a step; None where it reads what is not known now."""
    known = {"step": step, "updates": step, "stage-step": step}
    if steps:
        known["progress"] = step / steps  # type: ignore[assignment]
    try:
        return float(scalars.evaluate(tree, known))
    except (KeyError, TypeError):
        return None
    except (ArithmeticError, ValueError):
        return math.nan


def _row(group: GroupValue, paths: tuple[str, ...]) -> Group:
    hyper = group.optimizer.hyper if group.optimizer else ()
    lr = next((tree_of(v) for k, v in hyper if k == "lr"), None)
    return Group(
        group.optimizer.name if group.optimizer else "frozen",
        paths,
        group.optimizer is None,
        group.dtype,
        group.loss,
        group.every,
        group.offset,
        tuple((name, _text(value)) for name, value in hyper),
        lr,
        group.span,
        _decays(group.optimizer),
    )


def _decays(optimizer: Optimizer | None) -> bool:
    """Whether a decay is written that is not the optimizer's own default."""
    if optimizer is None:
        return False
    value = dict(optimizer.hyper).get("weight-decay", 0)
    return value not in (0, dict(optimizer.defaults).get("weight-decay"))


def _text(value: Value) -> str:
    if value.__class__ is StepScalar:
        return scalars.text(value.tree)
    return show(value) if is_number(value) else describe(value)


# Groups that rest

MOST = 4
"""Patterns of due groups of a stage: each is a program of its own."""
LONGEST = 2**20
"""Steps after which the patterns repeat: each is kept."""


def cycle(optimization: Optimization) -> tuple[frozenset[int], ...]:
    """Indices of the groups that are due, by step modulo the length. E-GROUP-PATTERNS."""
    trained = [(i, g) for i, g in enumerate(optimization.groups) if not g.frozen]
    length = math.lcm(*(g.every for _, g in trained))
    if length > LONGEST:
        slow = max((g for _, g in trained), key=lambda g: g.every)
        raise problem(
            "E-OPTION-VALUE",
            f"which groups are due repeats after {length:,} steps, more than {LONGEST:,}",
            hint="a smaller :every, or one that is a multiple of the others'",
        ).locate(slow.span)
    found: list[frozenset[int]] = []
    patterns: set[frozenset[int]] = set()
    for step in range(length):
        due = frozenset(i for i, g in trained if step % g.every == g.offset)
        found.append(due)
        patterns.add(due)
        if len(patterns) > MOST:
            slow = next(g for _, g in trained if g.every != 1)
            raise problem(
                "E-GROUP-PATTERNS",
                f"the groups are due in more than {MOST} patterns over {length} steps",
                hint="periods that divide each other, as :every 2 and :every 4",
            ).locate(slow.span)
    return tuple(found)


def cadence(every: int, offset: int) -> str:
    """How a group's own count of updates is named; "" where it is that of the run."""
    return "" if every == 1 else f"{every}/{offset}"


def cadences(optimization: Optimization) -> dict[str, tuple[int, int]]:
    """The counts that a stage's groups keep: every, offset."""
    slow = [(g.every, g.offset) for g in optimization.groups if g.every != 1]
    return {cadence(*pair): pair for pair in slow}
