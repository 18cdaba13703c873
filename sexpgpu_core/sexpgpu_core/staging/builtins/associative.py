"""`associative-scan`: running results in a logarithmic number of calls of the function."""

from __future__ import annotations

from ...diagnostics import problem
from ...evaluator.values import NIL, Value, first_value
from ...ir.graph import Value as Node
from ..arguments import axis as axis_of
from ..arguments import flag
from ..host import tracer
from ..structure import Structure, leaves, put_together, structure_of
from ..table import tensor_builtin
from ..tracer import Tracer
from .gradients import called
from .loops import next_carry


@tensor_builtin("associative-scan", "(fn x &key (axis 0) reverse)")
def associative_scan(fn: Value, x: Value, *, axis: Value = 0, reverse: Value = NIL) -> Value:
    """Running results of an associative fn of two along an axis, in about 2 log2(n) calls of it on
    parts of several elements, which it combines element by element. x is a tensor or a list. A.

    (associative-scan #'max x :axis 1)"""
    t = tracer("associative-scan")
    given = leaves("associative-scan", x, t)
    structure = structure_of("associative-scan", x)
    places = [axis_of("associative-scan", axis, len(v.shape)) for v in given]
    sizes = {v.shape[p] for v, p in zip(given, places)}
    if len(sizes) != 1:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"associative-scan over {', '.join(str(v.type) for v in given) or 'nothing'}: "
            "all have one length on the axis",
            sizes=sorted(sizes),
        )
    running = _Running(t, fn, structure, places)
    if flag(reverse):
        turned = [t.builder("flip", v, axes=(p,)) for v, p in zip(given, places)]
        made = running.scanned(turned, last_first=True)
        made = [t.builder("flip", v, axes=(p,)) for v, p in zip(made, places)]
    else:
        made = running.scanned(given, last_first=False)
    return put_together(structure, made, t)


class _Running:
    """Pairs are combined, their running results taken, and the even places filled in."""

    def __init__(self, t: Tracer, fn: Value, structure: Structure, places: list[int]) -> None:
        self.t = t
        self.fn = fn
        self.structure = structure
        self.places = places

    def scanned(self, values: list[Node], last_first: bool) -> list[Node]:
        n = values[0].shape[self.places[0]]
        if n < 2:
            return values
        even, odd = self._part(values, 0, n), self._part(values, 1, n)
        pairs = self._combined(self._first(even, n // 2), odd, last_first)
        at_odd = self.scanned(pairs, last_first)
        left = self._first(at_odd, (n + 1) // 2 - 1)
        later = self._after(even)
        filled = self._combined(left, later, last_first) if n > 2 else []
        return self._woven(self._first(even, 1), filled, at_odd, n)

    def _combined(self, left: list[Node], right: list[Node], last_first: bool) -> list[Node]:
        """fn of what comes before and what comes after, in the order of the axis."""
        t = self.t
        pair = (right, left) if last_first else (left, right)
        arguments = tuple(put_together(self.structure, v, t) for v in pair)
        made = first_value(called("associative-scan", self.fn, arguments))
        return next_carry("associative-scan", self.fn, self.structure, left, made, t)

    def _part(self, values: list[Node], start: int, stop: int) -> list[Node]:
        return [self._sliced(v, p, start, stop, 2) for v, p in zip(values, self.places)]

    def _first(self, values: list[Node], count: int) -> list[Node]:
        return [self._sliced(v, p, 0, count, 1) for v, p in zip(values, self.places)]

    def _after(self, values: list[Node]) -> list[Node]:
        return [self._sliced(v, p, 1, v.shape[p], 1) for v, p in zip(values, self.places)]

    def _sliced(self, node: Node, axis: int, start: int, stop: int, step: int) -> Node:
        if (start, stop, step) == (0, node.shape[axis], 1):
            return node
        starts, stops, steps = [0] * len(node.shape), list(node.shape), [1] * len(node.shape)
        starts[axis], stops[axis], steps[axis] = start, stop, step
        return self.t.builder(
            "slice", node, starts=tuple(starts), stops=tuple(stops), steps=tuple(steps)
        )

    def _woven(self, first: list[Node], filled: list[Node], odd: list[Node], n: int) -> list[Node]:
        """Results at even places and at odd ones, in order."""
        found = []
        for i, (head, at_odd, axis) in enumerate(zip(first, odd, self.places)):
            parts = [head, filled[i]] if filled else [head]
            even = parts[0] if len(parts) == 1 else self.t.builder("concat", *parts, axis=axis)
            found.append(self._alternated(even, at_odd, axis, n))
        return found

    def _alternated(self, even: Node, odd: Node, axis: int, n: int) -> Node:
        b = self.t.builder
        rank = len(even.shape)

        def spread(node: Node, before: int) -> Node:
            gaps = tuple(1 if a == axis else 0 for a in range(rank))
            low = tuple(before if a == axis else 0 for a in range(rank))
            size = 2 * node.shape[axis] - 1 + before
            high = tuple(n - size if a == axis else 0 for a in range(rank))
            zero = False if node.dtype == "bool" else 0
            return b("pad", node, low=low, high=high, interior=gaps, value=zero)

        places = b("iota", dtype="i32", shape=(n,), axis=0)
        is_odd = b("equal", b("bit-and", places, b.constant(1, "i32")), b.constant(1, "i32"))
        shape = tuple(n if a == axis else 1 for a in range(rank))
        return b("where", b("reshape", is_odd, shape=shape), spread(odd, 1), spread(even, 0))
