"""`scan` and `map-over`: functions over parts of tensors along an axis, compiled as loops (45.27).

The function is traced once, into a body: a loop of any number of trips compiles in the time of one.
Trips are numbered for random numbers; those of a `map-over` along the batch are rows.
"""

from __future__ import annotations

from ...diagnostics import Change, Edit, Problem, Related, problem
from ...evaluator.designators import function_of
from ...evaluator.values import NIL, MultipleValues, Value, make_list
from ...ir.graph import Value as Node
from ...ir.ops import loops
from ...spans import Span
from ..arguments import axis as axis_of
from ..arguments import choice, flag
from ..dependence import ROW
from ..faults import describe
from ..host import tracer
from ..origins import place_of, within
from ..promote import integer, node_of
from ..regions import Region, Weighed
from ..segments import segmented
from ..structure import TENSOR, Structure, leaves, put_together, structure_of, told
from ..table import tensor_builtin
from ..traced import Trips
from ..tracer import Tracer
from .gradients import called

SAVES = ("all", "carry")


@tensor_builtin("scan", "(fn carry xs &key (axis 0) reverse length (save :all) segments)")
def scan(
    fn: Value,
    carry: Value,
    xs: Value,
    *,
    axis: Value = 0,
    reverse: Value = NIL,
    length: Value = NIL,
    save: Value = NIL,
    segments: Value = NIL,
) -> Value:
    """fn of the carry and a part of xs, trip after trip along an axis: it returns the next carry
    and a y, `(values carry y)`. The values are the last carry and all y stacked. Carry, xs and y
    are a tensor, nil, or a list of such. `:save :carry` keeps carries only for the backward pass,
    `:segments k` every k-th, and computes the rest again. A.

    (scan (lambda (h v) (values (+ h v) h)) (zeros '(64)) x)"""
    t = tracer("scan")
    loop = _Loop(t, "scan", fn, xs, axis, length)
    start = leaves("scan", carry, t)
    kind = "all" if save is NIL else choice("scan", "save", save, SAVES)
    every = None if segments is NIL else _positive("scan", "segments", segments)
    shape = structure_of("scan", carry)
    with t.inside("scan") as region:
        made = loop.traced(region, start, shape)
    keep = None if kind == "all" else kind
    last, ys = loop.applied(region, start, flag(reverse), keep, every)
    return MultipleValues((put_together(shape, last, t), put_together(made, ys, t)))


@tensor_builtin("map-over", "(fn x &rest y &key (axis 0))")
def map_over(fn: Value, x: Value, *y: Value, axis: Value = 0) -> Value:
    """fn of the parts of tensors along an axis, its values stacked on it. Along the batch axis a
    trip is a row: it draws the random numbers of its example. A.

    (map-over (lambda (row) (grad (sum (square row)) row)) x)"""
    t = tracer("map-over")
    loop = _Loop(t, "map-over", fn, make_list([x, *y]), axis, NIL)
    with t.inside("map-over") as region:
        region.rows = loop.over_batch
        structure = loop.traced_over(region)
    _, ys = loop.applied(region, [], False, None, None)
    made = [t.tensor(v) for v in ys]
    return made[0] if structure == TENSOR else MultipleValues(tuple(made))


class _Loop:
    """A function over parts of tensors along an axis."""

    def __init__(
        self, t: Tracer, name: str, fn: Value, xs: Value, axis: Value, length: Value
    ) -> None:
        self.t = t
        self.name = name
        self.fn = fn
        self.axis = axis
        self.structure = structure_of(name, xs)
        given = leaves(name, xs, t)
        places = [axis_of(name, axis, len(v.shape)) for v in given]
        self.length = self._length(given, places, length)
        around = t.region.axes()
        batch = [around.of(v) for v in given]
        self.over_batch = any(a == p for a, p in zip(batch, places))
        self.rows = [_to_front(t, v, p) for v, p in zip(given, places)]
        self.start_axes = around

    def _length(self, given: list[Node], places: list[int], length: Value) -> int:
        sizes = [v.shape[p] for v, p in zip(given, places)]
        if length is not NIL:
            sizes.append(integer(self.name, "length", length))
        if not sizes:
            raise problem(
                "E-SHAPE-ARGUMENT",
                f"{self.name} has no xs to count its trips by",
                hint=f"say how many: ({self.name} fn carry nil :length n)",
            )
        if len(set(sizes)) > 1 or sizes[0] < 0:
            shown = ", ".join(str(v.type) for v in given)
            told_length = "" if length is NIL else f" and :length {sizes[-1]}"
            raise problem(
                "E-SHAPE-ARGUMENT",
                f"{self.name} over {shown}{told_length}: "
                f"on axis {describe(self.axis)} they have {' and '.join(map(str, sizes))} parts",
                hint="all that is scanned has one length; cut it with slice",
                sizes=sizes,
            )
        return sizes[0]

    def traced(self, region: Region, start: list[Node], shape: Structure) -> Structure:
        """Traces the function of a scan into the region; what y is made of."""
        t = self.t
        region.length = self.length
        carries = self._inputs(region, "carry", start, False)
        parts = self._inputs(region, "x", self.rows, True)
        arguments = (put_together(shape, carries, t), put_together(self.structure, parts, t))
        made = called(self.name, self.fn, arguments)
        values = made if made.__class__ is MultipleValues else (made, NIL)
        if len(values) > 2:
            raise problem(
                "E-CONTRACT",
                f"the function of {self.name} returns {len(values)} values, wants carry and y",
                hint="(values carry y); several y are a list: (values carry (list a b))",
            ).locate(function_of(self.fn).span)
        carry, y = (*values, NIL)[:2]
        nexts = next_carry(self.name, self.fn, shape, start, carry, t)
        results = {f"carry:{i}": v for i, v in enumerate(nexts)}
        results.update(stacked(leaves(self.name, y, t), len(start)))
        region.builder.graph.results = results
        return structure_of(self.name, y)

    def traced_over(self, region: Region) -> Structure:
        """Traces the function of a map-over; its values are the y."""
        t = self.t
        region.length = self.length
        parts = self._inputs(region, "x", self.rows, True)
        made = called(self.name, self.fn, tuple(map(t.tensor, parts)))
        several = made.__class__ is MultipleValues
        nodes = [node_of(self.name, v, t) for v in (made if several else (made,))]
        region.builder.graph.results = stacked(nodes, 0)
        return (TENSOR,) * len(nodes) if several else TENSOR

    def _inputs(self, region: Region, kind: str, nodes: list[Node], parts: bool) -> list[Node]:
        made = []
        for i, node in enumerate(nodes):
            name = f"{kind}:{i}"
            axis = self.start_axes.of(node)
            if parts and axis >= 0:
                axis = axis - 1 if axis else ROW
            region.batch[name] = axis
            shape = node.shape[1:] if parts else node.shape
            made.append(region.builder.input(name, "body", node.dtype, shape))
        return made

    def applied(
        self, region: Region, start: list[Node], reverse: bool, save: str | None, every: int | None
    ) -> tuple[list[Node], list[Node]]:
        """The loop in the graph around: the last carries, and what is stacked, on the axis."""
        t, b = self.t, self.t.builder
        operands = {f"carry:{i}": v for i, v in enumerate(start)}
        operands.update({f"x:{i}": v for i, v in enumerate(self.rows)})
        if region.counted:
            operands[region.number] = b("iota", dtype="i32", shape=(self.length,), axis=0)
        operands.update(region.captures)
        body, own = region.builder.graph, len(region.builder.graph.results)
        counts = _counts(region)
        region.trips = Trips(body, operands, self.length, reverse)
        if every is None or every >= self.length:
            found = loops.scan(b, body, operands, self.length, reverse, save)
        else:
            found = segmented(b, body, operands, self.length, reverse, save, every)
        for names, empty in counts:
            count = found[empty]
            reached = tuple(found[n] for n in names)
            t.region.weighed[count.node.id, count.result] = Weighed(reached, count)
        values = list(found.values())[:own]
        last, ys = values[: len(start)], values[len(start) :]
        return last, [_from_front(t, v, axis_of(self.name, self.axis, len(v.shape))) for v in ys]


def _counts(region: Region) -> list[tuple[list[str], str]]:
    if not region.weighed:
        return []
    from ..weighing import stacked_counts

    return stacked_counts(region)


def stacked(nodes: list[Node], first: int) -> dict[str, Node]:
    """Results that are stacked; a value twice is two results."""
    return {f"y:{first + i}": v for i, v in enumerate(nodes)}


def _to_front(t: Tracer, node: Node, axis: int) -> Node:
    order = (axis, *(a for a in range(len(node.shape)) if a != axis))
    return node if axis == 0 else t.builder("permute", node, axes=order)


def _from_front(t: Tracer, node: Node, axis: int) -> Node:
    rest = list(range(1, len(node.shape)))
    rest.insert(axis, 0)
    return node if axis == 0 else t.builder("permute", node, axes=tuple(rest))


def _positive(name: str, what: str, value: Value) -> int:
    found = integer(name, what, value)
    if found < 1:
        raise problem("E-OPTION-VALUE", f":{what} of {name} is {found}, wants 1 or more")
    return found


def next_carry(
    name: str, fn: Value, shape: Structure, start: list[Node], carry: Value, t: Tracer
) -> list[Node]:
    """The nodes of what fn returned as the carry; E-STAGE-CARRY where it is another type."""
    found = structure_of(name, carry)
    if found != shape:
        raise _changed(
            t, name, fn, f"goes in as {told(shape)} and comes back as {told(found)}", "the carry"
        )
    nodes = leaves(name, carry, t)
    for i, (old, new) in enumerate(zip(start, nodes)):
        if old.type != new.type:
            part = "the carry" if len(start) == 1 else f"part {i} of the carry"
            how = f"goes in as {old.type} and comes back as {new.type}"
            raise _changed(t, name, fn, how, part, old, new)
    return nodes


def _changed(
    t: Tracer,
    name: str,
    fn: Value,
    how: str,
    part: str,
    old: Node | None = None,
    new: Node | None = None,
) -> Problem:
    call, span = t.region.span, function_of(fn).span
    related = [Related(f"the first carry is given to {name} here", call)] if call else []
    made = place_of(new.node, t.region) if new is not None else None
    if made is not None and span is not None and within(made, span):
        related.append(Related("what comes back is made here", made))
    return problem(
        "E-STAGE-CARRY",
        f"{part} of {name} {how}",
        hint="return the type that went in: cast or reshape one of them",
        edit=_cast_back(related[-1].span, old, new) if len(related) > 1 else None,
        related=tuple(related),
    ).locate(span)


def _cast_back(span: Span | None, old: Node | None, new: Node | None) -> Edit | None:
    """Where only the dtype differs, and what is returned is a form that was written."""
    if old is None or new is None or span.__class__ is not Span or old.shape != new.shape:
        return None
    assert span is not None
    text = f"(cast {span.text} :{old.dtype})"
    return Edit(f"cast it back to {old.dtype}", (Change(span, text),))
