"""The diagnostic numbers that a stage has: built in, installed, and named in traced code.

Names: NUMBER/PATH of a parameter, model or operation, group/N/NUMBER of a group, NUMBER of the
step or the host; what `(diagnostic ...)` names begins with the scope it stands in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..entries import DiagnosticEntry
from ..ir import Node, Value
from ..records import NamedTuple
from ..registry import Registry
from ..staging.scopes import join
from ..staging.traced import Inside, Looped, Written
from ..step.observe import Observer
from ..step.updates import groups_due
from .stages import StageTrace

Pieces = Callable[[Observer], "Sequence[Value]"]


class Row(NamedTuple):
    """A kind of number that is installed, and its function, which is imported when it is used."""

    entry: DiagnosticEntry
    function: Callable[[], Any]


class Probe(NamedTuple):
    """One number. `watch`: values of the traced graph that it is made of, by name."""

    name: str
    reduce: str
    unit: str
    watch: Mapping[str, Value | Looped]
    pieces: Pieces | None  # None: of the host
    measure: Callable[[], Any] | None = None
    scalars: Callable[[], Mapping[str, Any]] = dict


class Site(NamedTuple):
    """A thing that has numbers: what a row's function is given, a tuple a piece."""

    name: str  # with {} for the row's
    watch: Mapping[str, Value | Looped]
    operands: Callable[[Observer], Sequence[tuple[Any, ...]]]


def rows_of(registry: Registry) -> list[Row]:
    """All that is installed; a function is imported when a number of it is made."""
    names = registry.names("diagnostics")
    return [
        Row(registry.get("diagnostics", n), partial(registry.load, "diagnostics", n)) for n in names
    ]


def available(stage: StageTrace, rows: Sequence[Row]) -> list[Probe]:
    """Every built-in and installed number of a stage, and what `(diagnostic ...)` names."""
    found = []
    for row in rows:
        entry = row.entry
        if entry.on == "run":
            found.append(Probe(entry.name, entry.reduce, entry.unit, {}, None, row.function))
            continue
        for site in SITES[entry.on](stage):
            pieces = partial(_pieces, row, site)
            name = site.name.format(entry.name)
            found.append(Probe(name, entry.reduce, entry.unit, site.watch, pieces))
    return found + [_written(w) for w in stage.traced.watched.written]


def _pieces(row: Row, site: Site, observer: Observer) -> list[Value]:
    function = row.function()
    return [function(observer.b, *given) for given in site.operands(observer)]


def _written(written: Written) -> Probe:
    watch = {written.name: written.value}
    return Probe(written.name, written.reduce, "", watch, lambda o: o.watched(written.name))


def _parameters(stage: StageTrace) -> Iterator[Site]:
    read = Observer.parameter
    yield from _of_paths(list(stage.traced.parameters), stage, lambda o, p: (read(o, p),))


def _gradients(stage: StageTrace) -> Iterator[Site]:
    due = list(groups_due(stage.optimization))
    yield from _of_paths(due, stage, lambda o, p: (o.gradient(p),))


def _of_paths(
    paths: Sequence[str], stage: StageTrace, given: Callable[[Observer, str], tuple[Value, ...]]
) -> Iterator[Site]:
    """Each parameter, each group of them, all."""
    for name, members in _members(paths, stage):
        yield Site(name, {}, partial(_each, given, members))


def _each(
    given: Callable[[Observer, str], tuple[Value, ...]], paths: Sequence[str], observer: Observer
) -> list[tuple[Value, ...]]:
    return [given(observer, path) for path in paths]


def _members(paths: Sequence[str], stage: StageTrace) -> Iterator[tuple[str, list[str]]]:
    for path in paths:
        yield "{}/" + path, [path]
    for number, group in enumerate(stage.optimization.groups, 1):
        members = [path for path in group.paths if path in paths]
        if members:
            yield f"group/{number}/{{}}", members
    yield "{}", list(paths)


def _updates(stage: StageTrace) -> Iterator[Site]:
    """The updates of all members, then the parameters before them."""
    for name, members in _members(list(groups_due(stage.optimization)), stage):

        def given(o: Observer, members: list[str] = members) -> list[tuple[Any, ...]]:
            return [([o.update(p) for p in members], [o.parameter(p) for p in members])]

        yield Site(name, {}, given)


def _states(stage: StageTrace) -> Iterator[Site]:
    for path, update in groups_due(stage.optimization).items():
        for state in update.states:

            def given(o: Observer, path: str = path, name: str = state.name) -> list[Any]:
                return [(o.state(path, name),)]

            yield Site(f"{{}}/{path}/{state.name}", {}, given)


def _outputs(stage: StageTrace) -> Iterator[Site]:
    for path, value in stage.traced.watched.outputs.items():
        yield _site(f"{{}}/{path}", f"output:{path}", value)


def _logits(stage: StageTrace) -> Iterator[Site]:
    """The first operand of every cross-entropy."""
    for path, node, inside in _nodes(stage, "cross-entropy"):
        logits = node.operands[0]
        if inside is None or inside.trips is not None:
            value = logits if inside is None else Looped(logits, inside.trips or ())
            yield _site(join("{}", path), f"logits:{path}", value)


def _attention(stage: StageTrace) -> Iterator[Site]:
    for path, node, inside in _nodes(stage, "attention"):
        if inside is None:
            yield _site(join("{}", path), f"attention:{path}", Value(node))


def _site(name: str, key: str, value: Value | Looped) -> Site:
    return Site(name, {key: value}, lambda o: [(v,) for v in o.watched(key)])


def _nodes(stage: StageTrace, operation: str) -> Iterator[tuple[str, Node, Inside | None]]:
    """Live nodes of an operation by the scope that made them, those of bodies behind; the second
    in one is NAME-2."""
    counts = dict[str, int]()
    traced = stage.traced
    for graph, inside in [(traced.graph, None), *((i.graph, i) for i in traced.watched.bodies)]:
        live = graph.live()
        for node in graph.nodes:
            if node.operation == operation and node.id in live:
                origin = graph.origin(node)
                scope = origin.scope if origin is not None else ""
                count = counts[scope] = counts.get(scope, 0) + 1
                yield (scope if count == 1 else join(scope, str(count))), node, inside


def hidden(stage: StageTrace, rows: Sequence[Row]) -> dict[str, tuple[str, str]]:
    """Numbers that there would be, were it not for the builtin whose function they are in: by
    name, the scope and the builtin."""
    found = {}
    for row in rows:
        if row.entry.on in HIDDEN:
            for path, what in HIDDEN[row.entry.on](stage):
                found[join(row.entry.name, path)] = path, what
    return found


def _shut(operation: str, *, all_loops: bool) -> Callable[[StageTrace], Iterator[tuple[str, str]]]:
    def find(stage: StageTrace) -> Iterator[tuple[str, str]]:
        for path, _, inside in _nodes(stage, operation):
            if inside is not None and (all_loops or inside.trips is None):
                yield path, inside.what

    return find


SITES: dict[str, Callable[[StageTrace], Iterator[Site]]] = {
    "parameter": _parameters,
    "gradient": _gradients,
    "update": _updates,
    "optimizer": _states,
    "scope": _outputs,
    "logits": _logits,
    "attention": _attention,
}
"""By `on` of a row. The function of an update is given all updates and all parameters at once."""

HIDDEN: dict[str, Callable[[StageTrace], Iterable[tuple[str, str]]]] = {
    "scope": lambda stage: stage.traced.watched.hidden.items(),
    "logits": _shut("cross-entropy", all_loops=False),
    "attention": _shut("attention", all_loops=True),
}
"""Scopes and builtins. Entropy is of the attention's operands: a loop does not give them."""
