"""What was made of an experiment, as rows of schemas/explain.json: a function a section.

Of the first stage that trains: its traced graph says scopes and dependence, its plan says kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..device import Unit
from ..diagnostics.render_json import place
from ..ir import Graph, Operations
from ..ir.dependence import Dependence
from ..ir.graph import Value
from ..ir.policy import policy_of
from ..ir.reach import Reach, along
from ..plan.plan import Region
from ..records import NamedTuple
from .forecast import Speed, call_seconds
from .launched import Launched, launched
from .pipeline import Compiled
from .programs import flops_each
from .stages import StageTrace, steps_of


class Subject(NamedTuple):
    """What the sections are of: the first step's program; and the machine's speed, if known."""

    compiled: Compiled
    operations: Operations
    speed: Speed | None
    stage: StageTrace
    unit: Unit


def subject(compiled: Compiled, operations: Operations, speed: Speed | None) -> Subject:
    key, stage = next(iter(compiled.stages.items()))
    name = next(iter(steps_of(key, stage, compiled.stages)))
    unit = next(u for u in compiled.job.units if u.name == name)
    return Subject(compiled, operations, speed, stage, unit)


def parameters(of: Subject) -> list[dict[str, Any]]:
    """The fate of each, in order of first use. One that a group trains is reached by its loss, or
    the file does not compile; `through`: the operations that read it, by which a gradient comes."""
    readers = _readers(of.stage.traced.graph)
    found = []
    for path, p in of.stage.traced.parameters.items():
        trained = path in of.stage.optimization.updates
        row: dict[str, Any] = {
            "path": path, "dtype": p.type.dtype, "shape": list(p.type.shape), "count": p.type.size,
            **_group(of, path), "reached": trained, "trainable": trained, "init": str(p.init),
            "stored": of.compiled.job.persistent.types[f"parameter:{path}"].dtype,
            "through": list(dict.fromkeys(readers.get(path, ()))),
        }  # fmt: skip
        if len(readers.get(path, ())) > 1:
            row["tied"] = readers[path]
        if p.span is not None:
            row["file"], row["span"] = place(p.span)
        found.append(row)
    return found


def _group(of: Subject, path: str) -> dict[str, str | None]:
    """Which one has a parameter, and how fast that learns and decays where it says so."""
    number = of.stage.optimization.group_of.get(path)
    if number is None:
        return {"group": None}
    said = dict(of.stage.optimization.groups[number].facts)
    kept = {key: said[fact] for key, fact in FACTS.items() if fact in said}
    return {"group": str(number + 1), **kept}


FACTS = {"lr": "lr", "decay": "weight-decay"}
"""What is told of a group -> its optimizer's word."""


def _readers(graph: Graph) -> dict[str, list[str]]:
    """Operations that read each parameter, in order."""
    users = graph.users()
    inputs = [n for n in graph.inputs() if n.get("kind") == "parameter"]
    return {str(n.get("name")): [u.operation for u in users[n.id]] for n in inputs}


def groups(of: Subject) -> list[dict[str, Any]]:
    return list(of.compiled.job.summary["groups"])


def scopes(of: Subject) -> list[dict[str, Any]]:
    """Models, the outer ones before those inside them, each with all inside it, forward and
    backward. `share`: of the FLOPs of a step."""
    traced, graph = of.stage.traced, of.unit.graph
    flops = flops_each(graph, of.operations)
    total = sum(flops.values()) or 1
    work: dict[str, list[int]] = {}
    for number, done in flops.items():
        _add(work, _scope(graph, (number,)), done, 0)
    for call in launched(of.unit, of.operations):
        _add(work, _scope(graph, call.nodes), 0, call.work.bytes * call.work.calls)
    sizes: dict[str, list[int]] = {}
    for path, p in traced.parameters.items():
        _add(sizes, path.rpartition("/")[0], p.type.size, 0)
    return [
        {
            "scope": path, "type": {"dtype": v.type.dtype, "shape": list(v.type.shape)},
            "flops": work.get(path, [0, 0])[0], "bytes": work.get(path, [0, 0])[1],
            "share": round(work.get(path, [0, 0])[0] / total, 4),
            "parameters": sizes.get(path, [0])[0],
        }
        for path, v in sorted(traced.watched.outputs.items(), key=_depth)
    ]  # fmt: skip


def _depth(row: tuple[str, Any]) -> int:
    return row[0].count("/")


def _add(into: dict[str, list[int]], scope: str, first: int, second: int) -> None:
    """To a scope and all around it."""
    while scope:
        found = into.setdefault(scope, [0, 0])
        found[0] += first
        found[1] += second
        scope = scope.rpartition("/")[0]


def _scope(graph: Graph, nodes: tuple[int, ...]) -> str:
    """Of the first node that has one."""
    found = (graph.origins[n][0].scope for n in nodes if graph.origins.get(n))
    return next((scope for scope in found if scope), "")


def memory(of: Subject) -> list[dict[str, Any]]:
    """All that is held at once, then what each program needs beside what persists."""
    rows: list[dict[str, Any]] = [dict(of.compiled.job.summary["memory"])]
    for unit in of.compiled.job.units:
        if unit.plan is not None:
            needed = {r: n for r, n in unit.plan.bytes.items() if r is not Region.PERSISTENT}
            own = needed.get(Region.TRANSIENT, 0)
            rows.append(
                {"at": unit.name, "peak_bytes": sum(needed.values()), "activations_bytes": own}
            )
    return rows


def kernels(of: Subject) -> list[dict[str, Any]]:
    """Equal work together, the longest first."""
    footprint = of.compiled.job.summary["memory"]["peak_bytes"]
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for call in launched(of.unit, of.operations):
        work = call.work
        each = call_seconds(work, footprint, of.speed) if of.speed is not None else 0.0
        key = call.name, work.bytes, work.flops
        if key not in rows:
            rows[key] = _kernel(call, of.unit.graph)
        row = rows[key]
        row["count"] += work.calls
        row["bytes"] += work.bytes * work.calls
        row["flops"] += work.flops * work.calls
        row["predicted_s"] += each * work.calls
    return sorted(rows.values(), key=lambda row: (-row["predicted_s"], -row["bytes"]))


def _kernel(call: Launched, graph: Graph) -> dict[str, Any]:
    library = call.work.product or call.work.convolution
    row: dict[str, Any] = {
        "name": call.name, "kind": "library" if library else "kernel", "count": 0, "bytes": 0,
        "flops": 0, "predicted_s": 0.0, "fused": list(call.fused),
    }  # fmt: skip
    scope = _scope(graph, call.nodes)
    if scope:
        row["scope"] = scope
    found = (graph.origins[n][0].span for n in call.nodes if graph.origins.get(n))
    span = next((s for s in found if s is not None), None)
    if span is not None:
        row["file"], row["span"] = place(span)
    return row


def numerics(of: Subject) -> list[dict[str, Any]]:
    """What products are taken in: of the whole, then of scopes that stand over it."""
    said = of.compiled.job.summary["precision"]
    texts = {"/": said["default"], **said["scopes"]}
    return [
        {
            "scope": scope,
            "matmul": policy.low or policy.full,
            "accumulate": "f32" if policy.low else policy.full,
        }
        for scope, text in texts.items()
        for policy in [policy_of(text, said["default"])]
    ]


def dependence(of: Subject) -> list[dict[str, Any]]:
    """What of each field the outermost models may depend on, by the axes of examples and of
    positions: at its own index only (independent), up to it (causal), or elsewhere too (none)."""
    graph = of.stage.traced.graph
    outputs = of.stage.traced.watched.outputs
    outer = {p: v for p, v in outputs.items() if "/" not in p and isinstance(v, Value)}
    rows: list[dict[str, Any]] = []
    for node in graph.inputs():
        if node.get("kind") != "batch":
            continue
        for axis in range(min(2, len(node.types[0].shape))):
            found = Dependence(graph, of.operations, [Value(node)], axis)
            rows += _proofs(str(node.get("name")), axis, found, outer)
    return rows


def _proofs(
    name: str, axis: int, found: Dependence, outer: Mapping[str, Value]
) -> Iterator[dict[str, Any]]:
    for path, value in outer.items():
        reach = found.of(value)
        if not reach.empty:
            yield {"output": path, "input": name, "axis": axis, "proved": _proved(reach, axis)}


def _proved(reach: Reach, axis: int) -> str:
    if reach == along(axis):
        return "independent"
    return "causal" if reach.upto(axis) else "none"


SECTIONS: dict[str, Callable[[Subject], list[dict[str, Any]]]] = {
    "parameters": parameters,
    "groups": groups,
    "scopes": scopes,
    "memory": memory,
    "kernels": kernels,
    "numerics": numerics,
    "dependence": dependence,
}
