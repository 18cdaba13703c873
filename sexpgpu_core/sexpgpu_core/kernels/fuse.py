"""An optimized graph to a Schedule: kernels and calls in a legal order, over storages.

Clusters are grown in the order of the nodes, then it is decided what is stored, then each cluster
is built. Commit calls come last. All choices follow from the graph alone.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator

from ..ir import Graph, Node, Value
from ..ir.operation import Operations
from ..ir.types import Type
from .build import Output
from .cluster import Clusters
from .copies import Copies
from .folding import FOLDS, Cells, fixed
from .frames import Cluster, base
from .kernel import Call, KernelCall, NodeCall, Repeat, Schedule, View
from .prepare import LEAVES, PLACED, Prepared, is_compute
from .products import lay_results
from .repeat import LOOPS, committing, repeat_call
from .storing import CHEAP, Storing
from .views import MOVES, SUITS, is_dense, part


def schedule(
    graph: Graph,
    operations: Operations,
    library: Callable[[str], bool],
    cheap: int = CHEAP,
    cells: Cells = fixed,
) -> Schedule:
    """The graph cut into calls. `library(operation)`: the device takes such a node as a call.

    Raises E-DEVICE-OPERATION for a node that nothing does.
    """
    return Fusion(Prepared(graph, operations, library), cheap, cells).run()


class Fusion(Copies):
    """One graph being cut."""

    def __init__(self, prepared: Prepared, cheap: int = CHEAP, cells: Cells = fixed) -> None:
        super().__init__(prepared, cells)
        self.cheap = cheap
        self.clusters = Clusters()
        self.parts: dict[int, View] = {}  # copy node -> where it writes
        self.inputs: dict[int, tuple[Value, ...]] = {}  # call -> its operands, copies included
        self.nodes: list[Node] = []
        self.forced = set(prepared.copies)
        self.kept: set[Node] = set()  # nodes of which a value is stored
        self.bodies: dict[str, Schedule] = {}  # of loops
        self.copied: dict[Value, Value] = {}  # copies that calls and results take instead

    def run(self) -> Schedule:
        self.early = self._early()
        lay_results(self)
        for node in list(self.prepared.nodes):
            self._add(node)
        commits, results = self._results()
        storing = Storing(self.nodes, self.clusters, self.forced, self.cheap)
        self.stored = storing.stored
        direct = self._direct(commits)
        calls = self._calls(direct, commits)
        return self._schedule(calls, commits, direct, results)

    # Nodes to units
    def _add(self, node: Node) -> None:
        op = node.operation
        if op in LEAVES or op == "input" or op == "table" or op in MOVES:
            return
        if op in PLACED:
            self._placed(node)
        elif is_compute(node):
            self._compute(node)
        elif op in LOOPS:
            self._loop(node)
        else:
            self._call(node)

    def _early(self) -> set[int]:
        """Ids of nodes that something else than a commit needs: the verdict, metrics."""
        results = self.prepared.results.items()
        found = {v.node.id for name, v in results if not name.startswith("next:")}
        for node in reversed(self.prepared.nodes):
            if node.id in found:
                found.update([v.node.id for v in node.operands])
        return found

    def _compute(self, node: Node, extra: int = 0) -> None:
        self.nodes.append(node)
        held = self.clusters.held(node.operands)
        self.clusters.add(node, extra | held, node.id not in self.early)

    def _call(self, node: Node) -> None:
        suits = SUITS.get(node.operation, is_dense)
        given = tuple([self._operand(v, suits) for v in node.operands])
        self.inputs[node.id] = given
        self.forced.update([base(v) for v in given])
        self.nodes.append(node)
        self.clusters.call(node, given)

    def _loop(self, node: Node) -> None:
        """A unit of its own, after copies of the first carries to where the last ones will be."""
        named = dict(zip(node.get("inputs"), node.operands))
        mask = 0
        for i, (name, _, _) in enumerate(node.get("results")):
            if name in named:
                whole = self.bases[Value(node, i)] = self.dense(node.types[i])
                mask |= self._into(self._copy_node(named[name]), whole, 0)
        rest = {n: v for n, v in named.items() if not n.startswith("carry:")}
        given = tuple(self._operand(v, is_dense) for v in rest.values())
        self.inputs[node.id] = given
        self.forced.update([base(v) for v in given])
        self.nodes.append(node)
        self.clusters.call(node, given, mask)

    def _copy_node(self, value: Value) -> Node:
        return self.prepared.node("copy", (value,), (value.type,))

    def _operand(self, value: Value, suits: Callable[[View], bool]) -> Value:
        """An operand of a call as it may lie, copied if it must be."""
        source = base(value)
        view = self.as_if(value) if source.node.operation not in LEAVES else None
        return value if view is not None and suits(view) else self._copy(value)

    def _copy(self, value: Value) -> Value:
        """A dense copy of a value, once."""
        found = self.copied.get(value)
        if found is None:
            made = self._copy_node(value)
            self._compute(made)
            found = self.copied[value] = Value(made)
        return found

    def _placed(self, node: Node) -> None:
        """concat, pad, slice-set: copies into parts of one storage, what lies below first."""
        type = node.types[0]
        whole = self.bases.get(Value(node)) or self.dense(type)
        self.bases[Value(node)] = whole
        rank, mask = len(type.shape), 0
        ones = (1,) * rank
        if node.operation == "concat":
            axis, at = node.get("axis"), 0
            for value in node.operands:
                starts = tuple(at if a == axis else 0 for a in range(rank))
                mask |= self._part(value, part(whole, starts, ones, value.shape), 0)
                at += value.shape[axis]
        elif node.operation == "pad":
            fill = self.prepared.node("fill", (), (type,), value=node.get("value"))
            mask = self._into(fill, whole, 0)
            steps = tuple(1 + i for i in node.get("interior") or (0,) * rank)
            value = node.operands[0]
            mask |= self._part(value, part(whole, node.get("low"), steps, value.shape), mask)
        else:
            x, y = node.operands
            mask = self._part(x, whole, 0)
            mask |= self._part(y, part(whole, node.get("starts"), ones, y.shape), mask)
        self.clusters.maker[Value(node)] = mask

    def _part(self, value: Value, view: View, extra: int) -> int:
        """Units that write a value to a part; it may be there already."""
        if self.as_if(value) == view:
            source = base(value)
            self.forced.add(source)
            return self.clusters.maker[source]
        return self._into(self._copy_node(value), view, extra)

    def _into(self, node: Node, view: View, extra: int) -> int:
        if 0 in view.shape:
            return 0
        made = Value(node)
        self.bases[made] = view
        self.forced.add(made)
        self._compute(node, extra)
        return self.clusters.maker[made]

    # Results
    def _results(self) -> tuple[dict[str, Value], dict[str, Value]]:
        """What is committed, by "KIND:NAME", and what is read back."""
        commits, results = {}, {}
        for name, value in self.prepared.results.items():
            if name.startswith("next:"):
                computed = is_compute(value.node) or value.node.id in self.inputs
                commits[name[5:]] = value if computed else self._copy(value)
            else:
                results[name] = self._result(value)
        return commits, results

    def _result(self, value: Value) -> Value:
        source = base(value)
        op = source.node.operation
        whole = op not in LEAVES and op not in ("input", "table")
        view = self.as_if(value) if whole else None
        if view is None or not is_dense(view) or view.offset or source.type.size != value.type.size:
            value = self._copy(value)
            source = value
        self.forced.add(source)
        return value

    def _direct(self, commits: dict[str, Value]) -> dict[str, Value]:
        """Commits whose cluster makes nothing else: they are stored where they stay. What is
        committed under two names is stored first, and copied."""
        candidates: dict[int, list[str]] = {}
        names_of = Counter(commits.values())
        for name, value in commits.items():
            units = self.clusters.members(self.clusters.maker.get(value, 0))
            cluster = self.clusters.units[units[0]] if len(units) == 1 else None
            fits = isinstance(cluster, Cluster) and value in cluster.made and cluster.fold is None
            if fits and value not in self.stored and names_of[value] == 1:
                candidates.setdefault(units[0], []).append(name)
        found = {}
        for unit, names in candidates.items():
            cluster = self.clusters.units[unit]
            assert isinstance(cluster, Cluster)
            if self.stored.isdisjoint(self._made(cluster.nodes)):
                found.update({n: commits[n] for n in names})
        return found

    # Calls
    def _calls(self, direct: dict[str, Value], commits: dict[str, Value]) -> dict[int, list[Call]]:
        """Calls by unit. Values that are committed by a copy are stored first."""
        for name, value in commits.items():
            if name not in direct:
                self.stored.add(value)
        targets: dict[Value, View] = {}
        for name, value in direct.items():
            kind, _, rest = name.partition(":")
            targets[value] = self.input_view(kind, rest, value.type)
        found: dict[int, list[Call]] = {}
        goals = set(targets)
        self.kept = {v.node for v in self.stored | goals}
        for number, unit in enumerate(self.clusters.units):
            if self.clusters.same[number] == number:
                found[number] = self._committing_calls(unit, targets)
        for name in self._hazards(direct, targets, found):
            value = direct.pop(name)
            del targets[value]
            self.stored.add(value)
            (number,) = self.clusters.members(self.clusters.maker[value])
            found[number] = self._committing_calls(self.clusters.units[number], targets)
        return found

    def _committing_calls(self, unit: Cluster | Node, targets: dict[Value, View]) -> list[Call]:
        """The calls of a unit, which alone knows where what it commits stays: any other computes
        such a value again, since it may be asked for before it is there."""
        if isinstance(unit, Node):
            return [self._node_call(unit)]
        own = {v: targets[v] for v in self._made(unit.nodes) if v in targets}
        if not own:
            return self._kernel_calls(unit, set())
        self.bases.update(own)
        places, self.places = self.places, {}  # views of what stays there are forgotten
        found = self._kernel_calls(unit, set(own))
        self.places = places
        for value in own:
            del self.bases[value]
        return found

    def _hazards(
        self,
        direct: dict[str, Value],
        targets: dict[Value, View],
        found: dict[int, list[Call]],
    ) -> list[str]:
        """Commits whose storage another commit reads, or that read it at other places."""
        names = {targets[v].storage: n for n, v in direct.items()}
        hazards = set()
        for calls in found.values():
            for call in calls:
                if call.commit:
                    own = call.writes()
                    hazards |= {names[s] for s in call.reads() - own if s in names}
                    hazards |= {names[s] for s in own if s in names and _uneven(call, s)}
        return sorted(hazards)

    def _repeat(self, node: Node, inputs: list[View], outputs: list[View]) -> Repeat:
        key = node.get("body")
        if key not in self.bodies:
            body = committing(self.prepared.body(key))
            operations, library = self.prepared.operations, self.prepared.library
            self.bodies[key] = schedule(body, operations, library, cells=self.cells)
        names = [n for n in node.get("inputs") if not n.startswith("carry:")]
        room = self.storage(Type("u8", (0,)), "temp")
        return repeat_call(node, self.bodies[key], dict(zip(names, inputs)), outputs, room)

    def _node_call(self, node: Node) -> NodeCall | Repeat:
        inputs = []
        for value in self.inputs[node.id]:
            view = self.place(value)
            assert view is not None, (node, value)
            inputs.append(view)
        outputs = []
        for i in range(len(node.types)):
            view = self.base_view(Value(node, i))
            assert view is not None
            outputs.append(view)
        if node.operation in LOOPS:
            return self._repeat(node, inputs, outputs)
        return NodeCall(node, tuple(inputs), tuple(outputs))

    def _kernel_calls(self, cluster: Cluster, goals: set[Value]) -> list[Call]:
        outputs, commit = [], False
        for value in self._made([n for n in cluster.nodes if n in self.kept]):
            if value in self.stored or value in goals:
                view, node = self.base_view(value), value.node
                assert view is not None
                fold = cluster.reduced.get(node.id, ((), False))[1]
                kind = FOLDS[node.operation] if fold else "none"
                outputs.append(Output(value, view, kind))
                commit = commit or value in goals
        if not outputs or cluster.size == 0:
            return []
        calls: list[Call] = [*self.built(cluster, outputs)]
        for call in calls:
            call.commit = commit
        return calls

    def _made(self, nodes: list[Node]) -> Iterator[Value]:
        """What nodes of a cluster make, in order."""
        for node in nodes:
            if len(node.types) == 1:
                yield Value(node)
            else:
                yield from [Value(node, i) for i in self.prepared.stores_of(node)]

    # The order
    def _schedule(
        self,
        calls: dict[int, list[Call]],
        commits: dict[str, Value],
        direct: dict[str, Value],
        results: dict[str, Value],
    ) -> Schedule:
        ordered = [c for unit in self._order() for c in calls.get(unit, ())]
        work = [c for c in ordered if not c.commit]
        last: list[Call] = [c for c in ordered if c.commit]
        for name, value in commits.items():
            if name not in direct:
                kind, _, rest = name.partition(":")
                copies = self.copy_calls(value, self.input_view(kind, rest, value.type))
                for call in copies:
                    call.commit = True
                last += copies
        found: dict[str, View] = {}
        for name, value in results.items():
            view = self.place(value)
            assert view is not None, name
            found[name] = view
        verdict = found["verdict"].storage if "verdict" in found else None
        return Schedule(self.storages, [*work, *last], len(work), found, verdict)

    def _order(self) -> list[int]:
        """Units, each after those it needs; of several the one whose nodes come first."""
        units = [u for u in range(len(self.clusters.units)) if self.clusters.same[u] == u]
        before = {u: set(self.clusters.members(self.clusters.before[u])) - {u} for u in units}
        after: dict[int, list[int]] = {u: [] for u in units}
        for unit, needs in before.items():
            for need in needs:
                after[need].append(unit)
        ready = [(self._rank(u), u) for u in units if not before[u]]
        heapq.heapify(ready)
        found = []
        while ready:
            _, unit = heapq.heappop(ready)
            found.append(unit)
            for later in after[unit]:
                before[later].discard(unit)
                if not before[later]:
                    heapq.heappush(ready, (self._rank(later), later))
        assert len(found) == len(units), "units in a circle"
        return found

    def _rank(self, unit: int) -> int:
        what = self.clusters.units[unit]
        owner = self.prepared.owner
        if isinstance(what, Node):
            return owner.get(what.id, what.id)
        return max([owner.get(n.id, n.id) for n in what.nodes])


def _uneven(call: Call, storage: int) -> bool:
    """Whether a call reads a storage that it writes at other places than it writes."""
    if not isinstance(call, KernelCall):
        return storage in call.reads()
    kernel = call.kernel
    places = {
        (access.inner, access.index, place)
        for access, place in zip(kernel.accesses, call.places)
        if call.operands[access.operand] == storage
    }
    return len(places) > 1 or any(index is not None for _, index, _ in places)
