"""A compiled program as pieces of text, after each phase: what `ir` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..device import Unit
from ..diagnostics import nearest, problem
from ..ir.graph import Graph, Origin
from ..ir.text import Piece, lines
from ..kernels.dump import dump_call
from ..kernels.kernel import KernelCall, Repeat
from ..passes.optimize import PASSES
from ..plan.plan import Plan
from .pipeline import Compiled
from .programs import Watched
from .scoped import whole
from .stages import program_of

PHASES = ("traced", "differentiated", "optimized", "lowered")


class AfterPass:
    """Texts of all programs after one pass; give `watch` to the compile."""

    def __init__(self, name: str) -> None:
        self.name = _known(name, list(PASSES), "pass of the compiler")
        self.pieces: dict[str, list[Piece]] = {}

    @property
    def watch(self) -> Watched:
        return self._note

    def _note(self, program: str, name: str, graph: Graph) -> None:
        if name == self.name:
            self.pieces[program] = list(lines(graph))

    def show(self, compiled: Compiled, graph: str, stage: str | None) -> Iterable[Piece]:
        return self.pieces[_program(compiled, graph, stage)]


def show(compiled: Compiled, graph: str, stage: str | None, phase: str) -> Iterable[Piece]:
    """`graph`: train or a pass; `stage`: a training stage, the first by default."""
    name = _program(compiled, graph, stage)
    if phase == "traced":
        return lines(_traced(compiled, name))
    if phase == "differentiated":
        return lines(compiled.steps[name])
    return of_unit(next(u for u in compiled.job.units if u.name == name), phase)


def of_unit(unit: Unit, phase: str) -> Iterable[Piece]:
    """One program, optimized or lowered."""
    if phase != "lowered":
        return lines(unit.graph)
    if unit.plan is None:
        raise problem("E-USAGE-VALUE", "the reference device has no lowered form")
    return lowered(unit.plan, unit.graph)


def lowered(plan: Plan, graph: Graph) -> Iterator[Piece]:
    """Every call in order: kernels as loops, others by operation and shapes, with their places in
    the file as comments."""
    names = {b.id: b.name or f"b{b.id}" for b in plan.buffers}
    for number, call in enumerate(plan.calls):
        commit = " commit" if number >= plan.commit else ""
        found = [graph.origins.get(node, ()) for node in call.nodes]
        told = f"// {number}{commit}: {_places(found)}"
        yield tuple(origin for of in found for origin in of), f"{told}\n{_call(call, names)}"


def _call(call: Any, names: dict[int, str]) -> str:
    if isinstance(call, KernelCall):
        return dump_call(call, names).rstrip("\n")
    if isinstance(call, Repeat):
        return _repeated(call, names)
    given = ", ".join(f"{names[v.storage]}{list(v.shape)}" for v in call.inputs)
    made = ", ".join(f"{names[v.storage]}{list(v.shape)}" for v in call.outputs)
    return f"{made} = {call.node.operation}({given})"


def _repeated(call: Repeat, names: dict[int, str]) -> str:
    """A loop: where its body's values lie around it, then the body's calls."""
    asked = "" if call.test is None else f"while {names[call.test]}, "
    places = [f"{b.name} = {names[b.storage]}[{b.offset} + {b.step} trip]" for b in call.bound]
    inner = whole(lowered(call.plan, Graph())).rstrip("\n").replace("\n", "\n  ")
    told = "".join(f"  // {place}\n" for place in places)
    return f"for trip < {call.limit} {{  // {asked}{call.node.operation}\n{told}  {inner}\n}}"


def _places(found: Iterable[tuple[Origin, ...]]) -> str:
    """Scopes and lines of the first few nodes of a call."""
    told: dict[str, None] = {}
    for origin in (of[0] for of in found if of):
        place = str(origin.span) if origin.span is not None else ""
        told[f"{origin.scope}{' (backward)' if origin.grad else ''} {place}".strip()] = None
    return "; ".join(list(told)[:4])


def _program(compiled: Compiled, graph: str, stage: str | None) -> str:
    stages = [program_of(key, compiled.stages).removeprefix("step/") for key in compiled.stages]
    if graph == "train":
        chosen = (stage or stages[0]).lstrip(":").lower()
        return f"step/{_known(chosen, stages, 'stage')}"
    _known(graph, [*compiled.passes, *compiled.job.experiment.outputs], "pass or output")
    trace = compiled.passes[graph]
    return f"eval/{graph}" + ("" if trace.whole is not None else "/rest")


def _known(name: str, known: list[str], what: str) -> str:
    if name not in known:
        near = nearest(name, known)
        hint = f"did you mean {near}?" if near else "known: " + " ".join(known)
        raise problem("E-USAGE-VALUE", f"no {what} is named {name}", hint=hint)
    return name


def _traced(compiled: Compiled, name: str) -> Graph:
    kind, _, rest = name.partition("/")
    if kind == "step":
        return next(
            s for k, s in compiled.stages.items() if f":{k}".endswith(f":{rest}")
        ).traced.graph
    trace = compiled.passes[rest.removesuffix("/rest")]
    found = trace.whole if trace.whole is not None else trace.rest
    assert found is not None
    return found.graph
