"""A compiled program as text, after each phase: what `ir` prints."""

from __future__ import annotations

from ..device import Unit
from ..diagnostics import nearest, problem
from ..ir import Graph
from ..ir.text import write
from ..kernels.dump import dump_call
from ..kernels.kernel import KernelCall, Repeat
from ..passes.optimize import PASSES
from ..plan.plan import Plan
from .pipeline import Compiled
from .programs import Watched
from .stages import program_of

PHASES = ("traced", "differentiated", "optimized", "lowered")


class AfterPass:
    """Texts of all programs after one pass; give `watch` to the compile."""

    def __init__(self, name: str) -> None:
        self.name = _known(name, list(PASSES), "pass of the compiler")
        self.texts: dict[str, str] = {}

    @property
    def watch(self) -> Watched:
        return self._note

    def _note(self, program: str, name: str, graph: Graph) -> None:
        if name == self.name:
            self.texts[program] = write(graph)

    def show(self, compiled: Compiled, graph: str, stage: str | None) -> str:
        return self.texts[_program(compiled, graph, stage)]


def show(compiled: Compiled, graph: str, stage: str | None, phase: str) -> str:
    """`graph`: train or a pass; `stage`: a training stage, the first by default."""
    name = _program(compiled, graph, stage)
    if phase == "traced":
        return write(_traced(compiled, name))
    if phase == "differentiated":
        return write(compiled.steps[name])
    return of_unit(next(u for u in compiled.job.units if u.name == name), phase)


def of_unit(unit: Unit, phase: str) -> str:
    """One program, optimized or lowered."""
    if phase == "lowered":
        if unit.plan is None:
            raise problem("E-USAGE-VALUE", "the reference device has no lowered form")
        return lowered(unit.plan, unit.graph)
    return write(unit.graph)


def lowered(plan: Plan, graph: Graph) -> str:
    """Every call in order: kernels as loops, others by operation and shapes, with their places in
    the file as comments."""
    names = {b.id: b.name or f"b{b.id}" for b in plan.buffers}
    parts = []
    for number, call in enumerate(plan.calls):
        commit = " commit" if number >= plan.commit else ""
        parts.append(f"// {number}{commit}: {_origins(call.nodes, graph)}")
        if isinstance(call, KernelCall):
            parts.append(dump_call(call, names).rstrip("\n"))
        elif isinstance(call, Repeat):
            parts.append(_repeated(call, names))
        else:
            given = ", ".join(f"{names[v.storage]}{list(v.shape)}" for v in call.inputs)
            made = ", ".join(f"{names[v.storage]}{list(v.shape)}" for v in call.outputs)
            parts.append(f"{made} = {call.node.operation}({given})")
    return "\n".join(parts) + "\n"


def _repeated(call: Repeat, names: dict[int, str]) -> str:
    """A loop: where its body's values lie around it, then the body's calls."""
    asked = "" if call.test is None else f"while {names[call.test]}, "
    places = [f"{b.name} = {names[b.storage]}[{b.offset} + {b.step} trip]" for b in call.bound]
    graph = Graph()
    inner = lowered(call.plan, graph).rstrip("\n").replace("\n", "\n  ")
    told = "".join(f"  // {place}\n" for place in places)
    return f"for trip < {call.limit} {{  // {asked}{call.node.operation}\n{told}  {inner}\n}}"


def _origins(nodes: tuple[int, ...], graph: Graph) -> str:
    """Scopes and lines of the first few nodes of a call."""
    found: dict[str, None] = {}
    for node in nodes:
        for origin in graph.origins.get(node, ())[:1]:
            place = str(origin.span) if origin.span is not None else ""
            found[f"{origin.scope}{' (backward)' if origin.grad else ''} {place}".strip()] = None
    return "; ".join(list(found)[:4])


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
