"""The gradient of a scan: a scan the other way over what its trips saved (45.27).

Its carries are the cotangents of the carries, and sums for captured values, which are added trip
by trip from the last; sums of products of matrices are left to one product over all trips.
"""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Builder, Graph, Node, Value
from ..ir.bodies import Key, copied, own_inputs
from ..ir.ops.loops import choose, scan
from ..ir.rules import local_rule
from .reverse import Cotangents, GradientBuilder
from .vjp import Backward, Cut, active_inputs


class Term:
    """A part of a captured value's cotangent in one trip. `factors`: of a product of matrices
    whose rows all trips may stack; None: added in the carry."""

    __slots__ = ("factors", "value")

    def __init__(self, value: Value, factors: tuple[Value, ...] | None) -> None:
        self.value = value
        self.factors = factors


def scan_gradient(b: GradientBuilder, node: Node, out: Cotangents) -> Cotangents:
    """Cotangents of a scan's operands."""
    return _Gradient(b, node, out).found()


class _Gradient:
    def __init__(self, b: GradientBuilder, node: Node, out: Cotangents) -> None:
        self.b = b
        self.node = node
        self.body: Graph = b.graph.bodies[node.get("body")]
        self.operands = dict(zip(node.get("inputs"), node.operands))
        results = [name for name, _, _ in node.get("results")]
        self.out = {n: g for n, g in zip(results, out) if g is not None}
        self.everything = node.get("save") != "carry"
        asked = {n for n, v in self.operands.items() if b.needs(v)}
        active = active_inputs(b.operations, self.body, asked)
        self.active = [n for n in self.operands if n in active]
        self.carries = [n for n in self.active if n.startswith("carry:")]
        ys = [n for n in self.out if n.startswith("y:")]
        self.back = Backward(b.operations, self.body, active, [*self.carries, *ys])

    def found(self) -> Cotangents:
        terms = {
            n: self._terms(g)
            for n in self.active
            if n.startswith("capture:") and (g := self.back.of(n)) is not None
        }
        sums = {n: t for n in terms if (t := [x.value for x in terms[n] if x.factors is None])}
        parts = {n: g for n in self.active if n[0] == "x" and (g := self.back.of(n)) is not None}
        factors = _distinct([v for t in terms.values() for x in t for v in x.factors or ()])
        nexts = [self.back.of(n) for n in self.carries]
        roots = [v for v in nexts if v is not None] + [v for t in sums.values() for v in t]
        cut = self.back.cut([*roots, *parts.values(), *factors], self.everything)
        run = _Run(self, cut, list(sums))
        whole = run.stacked()
        made = [v for v in factors if _key(v) not in whole]
        last = run.scan(nexts, list(sums.values()), [*parts.values(), *made])
        pulled = dict(zip([*self.carries, *sums], last[0]))
        pulled.update(zip(parts, last[1]))
        whole.update(zip(map(_key, made), last[1][len(parts) :]))
        for name, of in terms.items():
            for term in of:
                if term.factors is not None:
                    more = self._product(term.value.node, [whole[_key(v)] for v in term.factors])
                    before = pulled.get(name)
                    pulled[name] = more if before is None else self.b("add", before, more)
        return tuple(pulled.get(name) for name in self.operands)

    def _terms(self, value: Value) -> list[Term]:
        """A sum as its terms."""
        node = value.node
        mine = node.operation == "add" and node.id >= self.back.first
        if mine and all(v.type == value.type for v in node.operands):
            return [t for v in node.operands for t in self._terms(v)]
        return [Term(value, self._factors(node) if self.everything else None)]

    def _factors(self, node: Node) -> tuple[Value, ...] | None:
        """What a term is a sum over rows of, where rows of all trips may be one operand."""
        if node.operation == "matmul":
            ranks = {len(v.shape) for v in node.operands}
            lies = node.get("transpose-x") and not node.get("transpose-y") and ranks == {2}
        else:
            lies = node.operation == "reduce-sum" and node.get("axes") == (0,)
            lies = lies and not node.get("keep")
        return node.operands if lies and all(map(self.back.varies, node.operands)) else None

    def _product(self, node: Node, whole: list[Value]) -> Value:
        """The term over all trips at once."""
        rows = [self._rows(v) for v in whole]
        attributes = dict(node.attributes)
        return self.b(node.operation, *rows, **attributes)

    def _rows(self, value: Value) -> Value:
        trips, rows, *rest = value.shape
        return self.b("reshape", value, shape=(trips * rows, *rest))


class _Run:
    """The two scans: the forward one with what is kept of each trip, and the backward one."""

    def __init__(self, of: _Gradient, cut: Cut, sums: list[str]) -> None:
        self.of = of
        self.cut = cut
        self.sums = sums
        self.rows: dict[str, Value] = {}  # x:M of the backward scan
        self.operands: dict[str, Value] = {}
        self.b = Builder(of.b.operations, rule=local_rule)
        self.kept = dict(zip(cut.kept, self._kept()))

    def stacked(self) -> dict[Key, Value]:
        """Values of a trip that are there of all trips already."""
        found = dict(self.kept)
        for name, value in self.of.back.inputs.items():
            if name.startswith("x:"):
                found[_key(value)] = self.of.operands[name]
        return found

    def scan(
        self, nexts: list[Value | None], sums: list[list[Value]], parts: list[Value]
    ) -> tuple[list[Value], list[Value]]:
        """The last carries, and the parts stacked."""
        of, node = self.of, self.of.node
        types = [of.body.results[n].type for n in of.carries]
        types += [of.operands[n].type for n in self.sums]
        mine = [self.b.input(f"carry:{i}", "body", *t) for i, t in enumerate(types)]
        self._given = dict(zip((f"cotangent:{n}" for n in of.carries), mine))
        known = {key: self._row(v) for key, v in self.kept.items()}
        went = copied(self.b, of.back.b.graph, self._input, self.cut.nodes, known)
        results: list[Value] = []
        for value, type in zip(nexts, types):
            results.append(self.b.constant(0, *type) if value is None else went[_key(value)])
        for total, values in zip(mine[len(of.carries) :], sums):
            for value in values:
                total = self.b("add", total, went[_key(value)])
            results.append(total)
        self.b.graph.results = {f"carry:{i}": v for i, v in enumerate(results)}
        self.b.graph.results.update({f"y:{i}": went[_key(v)] for i, v in enumerate(parts)})
        starts = [of.out.get(n) for n in of.carries] + [None] * len(self.sums)
        given = {
            f"carry:{i}": of.b.constant(0, *t) if v is None else v
            for i, (v, t) in enumerate(zip(starts, types))
        }
        given.update(self.rows)
        given.update(self.operands)
        back = not node.get("reverse")
        found = scan(of.b, self.b.graph, given, node.get("length"), back, node.get("save"))
        return (
            [found[f"carry:{i}"] for i in range(len(results))],
            [found[f"y:{i}"] for i in range(len(parts))],
        )

    def _kept(self) -> list[Value]:
        """What is kept of all trips, stacked: y more of the forward scan, which is made again and
        which a pass joins with the first."""
        of = self.of
        if not self.cut.kept:
            return []
        b = Builder(of.b.operations)
        went = copied(b, of.body, own_inputs(b, of.body))
        b.graph.results = {n: went[_key(v)] for n, v in of.body.results.items()}
        names = []
        for key in self.cut.kept:
            names.append(f"y:{len(b.graph.results)}")
            b.graph.results[names[-1]] = went[of.back.origin[key]]
        node = of.node
        again = scan(
            of.b, b.graph, of.operands, node.get("length"), bool(node.get("reverse")),
            node.get("save"),
        )  # fmt: skip
        return [again[n] for n in names]

    def _input(self, node: Node) -> Value:
        """What an input of the backward graph is in the backward scan's body."""
        name = node.get("name")
        if name in self._given:
            return self._given[name]
        if name.startswith("capture:"):
            self.operands[name] = self.of.operands[name]
            return self.b.input(name, "body", *node.types[0])
        source = self.of.operands if name.startswith("x:") else self.of.out
        return self._row(source[name.removeprefix("cotangent:")])

    def _row(self, stacked: Value) -> Value:
        """The trip's part of what is stacked: an input, or what is the same in all trips."""
        node, shape = stacked.node, stacked.shape[1:]
        if node.operation == "constant":
            return self.b.constant(node.get("value"), stacked.dtype, shape)
        if node.operation == "broadcast-to" and len(node.operands[0].shape) < len(stacked.shape):
            (source,) = node.operands
            name = f"capture:all-{source.node.id}-{source.result}"
            self.operands[name] = source
            same = self.b.input(name, "body", *source.type)
            return self.b("broadcast-to", same, shape=shape) if source.shape != shape else same
        for name, known in self.rows.items():
            if known == stacked:
                return self.b.input(name, "body", stacked.dtype, stacked.shape[1:])
        name = f"x:{len(self.rows)}"
        self.rows[name] = stacked
        return self.b.input(name, "body", stacked.dtype, stacked.shape[1:])


def _key(value: Value) -> Key:
    return value.node.id, value.result


def _distinct(values: list[Value]) -> list[Value]:
    return list({_key(v): v for v in values}.values())


def cond_gradient(b: GradientBuilder, node: Node, out: Cotangents) -> Cotangents:
    """A choice between the bodies' backward graphs, which compute what they need again."""
    names = node.get("inputs")
    operands = dict(zip(names, node.operands))
    results = [name for name, _, _ in node.get("results")]
    given = {n: g for n, g in zip(results, out) if g is not None}
    asked = [n for n in names[1:] if b.needs(operands[n])]
    yes, no = (
        _side(b, b.graph.bodies[node.get(key)], asked, given, operands) for key in ("body", "other")
    )
    more = {f"cotangent:{n}": g for n, g in given.items()}
    found = choose(b, operands["test"], yes, no, {**{n: operands[n] for n in names[1:]}, **more})
    return tuple(found.get(name) for name in names)


def _side(
    b: GradientBuilder,
    body: Graph,
    asked: list[str],
    given: dict[str, Value],
    operands: dict[str, Value],
) -> Graph:
    back = Backward(b.operations, body, set(asked), given)
    graph = back.b.graph
    graph.results = {}
    for name in asked:
        found = back.of(name)
        zero = back.b.constant(0, *operands[name].type)
        graph.results[name] = zero if found is None else found
    return graph


BODIES: dict[str, Callable[[GradientBuilder, Node, Cotangents], Cotangents]] = {
    "scan": scan_gradient,
    "cond": cond_gradient,
}
