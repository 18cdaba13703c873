"""The lowering report: every kernel and library call of the training step with bytes, FLOPs and
the time that a GPU's roofline gives it. Nothing is run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sexpgpu_core.diagnostics.render_json import place
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.cost import kernel_cost
from sexpgpu_core.kernels.kernel import Call, KernelCall, NodeCall, Repeat, View
from sexpgpu_core.passes.calls import gelu_refusal, refusal
from sexpgpu_core.plan.plan import Plan

from . import attention
from .addresses import drafted
from .dnn import SEEN
from .draft import Draft
from .products import EPILOGUES
from .roofline import START, Gpu, seconds
from .roofline import gpu as known
from .work import Fill, Launch, LibraryCall, Loop, Record

if TYPE_CHECKING:
    from sexpgpu_core.compile.pipeline import Compiled

LIBRARIES = dict.fromkeys(EPILOGUES, ("cuBLASLt", "product"))
LIBRARIES.update(dict.fromkeys(SEEN, ("cuDNN", "convolution")))
LIBRARIES.update(dict.fromkeys(attention.ROWS, ("cuDNN", "attention")))
"""Whose call an operation is, and what kind of work."""


PLAIN = {"product": "plain", "convolution": "plain", "attention": "rows"}
"""What a kernel of ours does of a library's kind of work."""


class Entry(NamedTuple):
    """One launch or call. `fused`: operations of the graph, in order."""

    name: str
    library: str
    bytes: int
    flops: int
    seconds: float
    fused: tuple[str, ...]
    nodes: tuple[int, ...]
    starts: int


def report(compiled: Compiled, model: str = "") -> dict[str, Any]:
    """Keys of schemas/explain.json, of the first training step. `model`: a GPU's name; H200."""
    gpu = known(model or "H200")
    unit = next(u for u in compiled.job.units if u.plan is not None)
    assert unit.plan is not None
    draft = drafted(unit.plan, compiled.job.persistent)
    found = list(entries(draft, unit.graph, unit.plan, gpu))
    total = sum(e.seconds for e in found)
    flops = next(iter(compiled.job.stages.values())).flops
    narrow = any(t.dtype in ("bf16", "f16") for n in unit.graph.nodes for t in n.types)
    peak = gpu.narrow if narrow else gpu.single
    memory = compiled.job.summary["memory"]
    return {
        "device": {
            "name": "cuda", "kind": "gpu", "model": gpu.name, "count": 1,
            "memory_bytes": gpu.memory,
        },
        "predicted": {
            "step_s": total,
            "flops_per_step": flops,
            "bytes_per_step": sum(e.bytes for e in found),
            "mfu": flops / (total * peak) if total else 0.0,
            "basis": f"roofline of one {gpu.name}, not measured: {gpu.bandwidth / 1e12:g} TB/s, "
            f"{peak / 1e12:g} TFLOP/s, {START * 1e6:g} us a launch",
        },
        "memory": [dict(memory)],
        "kernels": _grouped(found, unit.graph),
        "not_fused": [*fallbacks(compiled), *ours(draft, unit.graph)],
    }  # fmt: skip


def entries(draft: Draft, graph: Graph, plan: Plan, gpu: Gpu) -> Iterator[Entry]:
    """Of a plan's calls, in order."""
    records: dict[int, list[Record]] = {}
    for record in draft.records:
        if not isinstance(record, Fill):
            records.setdefault(record.call, []).append(record)
    for number, call in enumerate(plan.calls):
        there = records.get(number, [])
        if there:
            yield _entry(call, there, graph, gpu)


def _entry(call: Call, records: list[Record], graph: Graph, gpu: Gpu) -> Entry:
    if isinstance(call, KernelCall):
        return _kernel(call, records, graph, gpu)
    if isinstance(call, NodeCall):
        return _node(call, records, gpu)
    return _loop(call, records, gpu)


def _kernel(call: KernelCall, records: list[Record], graph: Graph, gpu: Gpu) -> Entry:
    flops, read, written = kernel_cost(call)
    moved = read + written
    time = seconds(gpu, "element", moved, flops, False, _threads(records))
    known = [graph.nodes[i].operation for i in call.nodes if 0 <= i < len(graph.nodes)]
    fused = tuple(dict.fromkeys(known))
    (launch,) = records
    assert isinstance(launch, Launch)
    return Entry(launch.unit.name, "", moved, flops, time + START, fused, call.nodes, 1)


def _node(call: NodeCall, records: list[Record], gpu: Gpu) -> Entry:
    operation = call.node.operation
    called = any(isinstance(r, LibraryCall) for r in records)
    library, kind = LIBRARIES.get(operation, ("", "element"))
    ours = PLAIN.get(kind, "") if not called else ""
    if not called:
        library, kind = "", ours or "element"
    types = tuple(v.type for v in call.node.operands)
    flops = OPERATIONS[operation].cost(types, dict(call.node.attributes)).flops
    if call.node.get("causal"):
        flops //= 2  # what is masked is skipped
    moved = _moved(call)
    narrow = call.outputs[0].dtype in ("bf16", "f16") or types[0].dtype in ("bf16", "f16")
    time = seconds(gpu, kind, moved, flops, narrow and bool(library), _threads(records))
    starts = len(records)
    shapes = " x ".join("".join(f"{n} " for n in v.shape).strip() for v in call.inputs[:2])
    name = f"{operation} {shapes}" if library or ours else operation
    name = f"plain {name}" if ours else name
    return Entry(
        name, library, moved, flops, time + starts * START, (operation,), call.nodes, starts
    )


def _threads(records: list[Record]) -> int:
    """Of the grids, 0 where a library decides."""
    found = [r.grid * r.threads for r in records if isinstance(r, Launch)]
    return max(found) if len(found) == len(records) else 0


PICKED = {"gather": 1, "take-along": 1}
"""Operations that read as much of their first operand as they write."""


def _moved(call: NodeCall) -> int:
    outputs = sum(map(_bytes, call.outputs))
    inputs = [_bytes(v) for v in call.inputs]
    if call.node.operation in PICKED:
        inputs[0] = min(inputs[0], outputs)
    return outputs + sum(inputs)


def _bytes(view: View) -> int:
    """What is really there: a broadcast axis counts once."""
    sizes = [n for n, stride in zip(view.shape, view.strides) if stride or n == 1]
    return math.prod(sizes) * WIDTH[view.dtype]


def _loop(call: Repeat, records: list[Record], gpu: Gpu) -> Entry:
    """Trips of a body, its bytes those that its records touch."""
    (loop,) = records
    assert isinstance(loop, Loop)
    body = [r for r in loop.first if not isinstance(r, Loop)]
    moved = loop.limit * sum(s.stop - s.start for r in body for s in r.spans)
    starts = loop.limit * len(body)
    time = seconds(gpu, "element", moved, 0, False) + starts * START
    return Entry("scan", "", moved, 0, time, ("scan",), call.nodes, starts)


def _grouped(found: list[Entry], graph: Graph) -> list[dict[str, Any]]:
    """Equal work together, the longest first."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for e in found:
        key = e.name, e.bytes, e.flops
        if key not in rows:
            rows[key] = {
                "name": e.name, "kind": "library" if e.library else "kernel", "count": 0,
                "bytes": 0, "flops": 0, "predicted_s": 0.0, "fused": list(e.fused),
                **({"library": e.library} if e.library else {}), **_origin(e.nodes, graph),
            }  # fmt: skip
        row = rows[key]
        row["count"] += 1
        row["bytes"] += e.bytes
        row["flops"] += e.flops
        row["predicted_s"] += e.seconds
    return sorted(rows.values(), key=lambda row: -row["predicted_s"])


def _origin(nodes: tuple[int, ...], graph: Graph) -> dict[str, Any]:
    """Scope and place of the first node that has one."""
    for i in nodes:
        origin = graph.origin(graph.nodes[i]) if 0 <= i < len(graph.nodes) else None
        if origin is not None and origin.span is not None:
            file, span = place(origin.span)
            return {"scope": origin.scope or "/", "file": file, "span": span}
    return {}


REFUSALS = {"attention": ("cuDNN", refusal), "gelu": ("cuBLASLt", gelu_refusal)}
"""What a library has as one call or as the end of one, whose it is and why it may not be."""


def ours(draft: Draft, graph: Graph) -> list[dict[str, Any]]:
    """Calls that are kernels of ours and not a library's (`providers`), with their reasons."""
    return _reasons(
        _reason(r.operation, r.why, draft.plan.calls[r.call].nodes, graph)
        for r in draft.places.refused
    )


def fallbacks(compiled: Compiled) -> list[dict[str, Any]]:
    """What is products and kernels of ours instead of a library's call, and why."""
    found = []
    for stage in compiled.stages.values():
        graph = stage.traced.graph
        for node in graph.nodes:
            library, refused = REFUSALS.get(node.operation, ("", None))
            why = refused(node, stage.precision) if refused is not None else None
            if why is not None:
                told = f"not {library}'s: {why}"
                found.append(_reason(node.operation, told, (node.id,), graph))
    return _reasons(found)


def _reason(operation: str, why: str, nodes: tuple[int, ...], graph: Graph) -> dict[str, Any]:
    at = {k: v for k, v in _origin(nodes, graph).items() if k != "scope"}
    return {"operations": [operation], "reason": why, **at}


def _reasons(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each once, in order."""
    return list({repr(row): row for row in rows}.values())
