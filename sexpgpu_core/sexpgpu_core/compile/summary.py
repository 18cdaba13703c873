"""What `check` prints of a compiled experiment: parameters, memory, disk, FLOPs, groups, ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..device import Unit
from ..experiment.declarations import Experiment
from ..ir import Graph
from ..ir.types import Type
from ..plan.plan import Persistent, Region
from ..staging.traced import Group, Parameter
from .stages import StageTrace
from .traces import Traces


def summarize(
    traces: Traces,
    *,
    memory: Mapping[str, int],
    persistent: int,
    flops: int,
    judgements: Mapping[str, str],
    sampled: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """By the key `summary` of contracts/schemas/check.json. `persistent`: bytes of a checkpoint.

    `judgements`: how each pass judges; `sampled`: what `sampling` says.
    """
    first = next(iter(traces.stages.values()))
    return {
        "experiment_id": traces.identity,
        "ir_sha256": traces.ir,
        "knobs": len(traces.experiment.knobs),
        "parameters": _parameters(traces.stages.values()),
        "steps": traces.steps,
        "flops_per_step": flops,
        "memory": dict(memory),
        "disk_bytes": _disk(traces, persistent),
        "batch": _batch(first),
        "evaluation_ids": traces.evaluations(judgements),
        "groups": [
            _group(number, group, first.traced.parameters)
            for number, group in enumerate(first.optimization.groups, 1)
        ],
        "precision": _precision(first),
        "proved": list(dict.fromkeys(p for s in traces.stages.values() for p in s.traced.proved)),
        **({"stages": _stages(traces)} if traces.ahead is not None else {}),
        **({"diagnostics": dict(sampled)} if sampled is not None else {}),
    }


def _batch(stage: StageTrace) -> dict[str, Any]:
    """What a step reads: the blocks of all microbatches together; whole arrays have no rows."""
    blocks = stage.rows // (stage.traced.rows or stage.rows)
    return {
        name: {"dtype": t.dtype, "shape": [blocks * n for n in t.shape[:1]] + list(t.shape[1:])}
        for name, t in stage.traced.fields.items()
    }


def _stages(traces: Traces) -> list[dict[str, Any]]:
    """Which stage trains from which step, as far as curriculum says before the run."""
    assert traces.ahead is not None
    borders = traces.ahead.borders
    ends = [*(first for _, first in borders[1:]), traces.steps]
    known = not traces.ahead.reads
    return [
        {
            "stage": key,
            "first": first,
            "steps": end - first if known or end < traces.steps else None,
        }
        for (key, first), end in zip(borders, ends)
    ]


def sampling(
    experiment: Experiment, numbers: int, observers: int, flops: int
) -> dict[str, Any] | None:
    """What is observed, and the work of observers over that of steps, whose FLOPs are given."""
    if not numbers:
        return None
    every = experiment.run.diagnostics.every
    share = observers / (flops * every) if flops else 0.0
    return {"numbers": numbers, "every": every, "share": round(share, 6)}


def _parameters(stages: Iterable[StageTrace]) -> dict[str, int]:
    found: dict[str, Parameter] = {}
    trained: set[str] = set()
    for stage in stages:
        found.update(stage.traced.parameters)
        trained |= set(stage.optimization.updates)
    return {
        "count": sum(p.type.size for p in found.values()),
        "tensors": len(found),
        "trainable": sum(p.type.size for path, p in found.items() if path in trained),
    }


def memory(units: Collection[Unit], persistent: Persistent) -> dict[str, int]:
    """Bytes that the device will hold at most, over steps, passes and stages: all of it is planned
    before a device is opened. `staging`: of the host, while a checkpoint is written."""
    plans = [u.plan for u in units if u.plan is not None]
    kinds = {"parameter": 0, "optimizer": 0}
    for name, type in persistent.types.items():
        kind = name.partition(":")[0]
        if kind in kinds:
            kinds[kind] += type.bytes
    transient = max((p.bytes.get(Region.TRANSIENT, 0) for p in plans), default=0)
    edges = sum(
        p.bytes.get(region, 0)
        for p in plans
        for region in (Region.INPUT, Region.SCALAR, Region.OUTPUT)
    )
    stacked = max((_stacked(u.graph) for u in units), default=0)
    return {
        "peak_bytes": persistent.bytes + transient + edges,
        "parameters_bytes": kinds["parameter"],
        "optimizer_bytes": kinds["optimizer"],
        "activations_bytes": transient,
        **({"stacked_bytes": stacked} if stacked else {}),
        "staging_bytes": persistent.saved_bytes,
    }


def _stacked(graph: Graph) -> int:
    """Bytes that the scans of a graph keep of all their trips: for the file, and of the forward
    pass for the backward one (45.27)."""
    return sum(
        type.bytes
        for node in graph.nodes
        if node.operation == "scan"
        for (name, *_), type in zip(node.get("results"), node.types)
        if name.startswith("y:")
    )


def fixed(traces: Traces) -> dict[str, Type]:
    """Parameters that no stage trains, by persistent name: checkpoints share them (R34), unless
    `:checkpoint (:frozen :copy)` is asked for."""
    if traces.experiment.run.checkpoint.frozen == "copy":
        return {}
    stages = traces.stages.values()
    trained = {path for stage in stages for path in stage.optimization.updates}
    found = {path: p.type for stage in stages for path, p in stage.traced.parameters.items()}
    return {f"parameter:{path}": type for path, type in found.items() if path not in trained}


def _disk(traces: Traces, persistent: int) -> int:
    """Bytes of the checkpoints that are there at once: those that stay, and the one in flight."""
    declared, steps = traces.experiment.run.checkpoint, traces.steps
    due = steps // declared.every if declared.every else 0
    due += sum(isinstance(at, int) and at <= steps for at in declared.at) + 1
    kept = due if declared.keep is None else min(due, declared.keep)
    shared = shared_bytes(traces)
    each = max(0, persistent - shared)
    return each * (kept + (declared.best is not None) + (due > kept)) + shared


def shared_bytes(traces: Traces) -> int:
    """Bytes of what never changes, which all checkpoints of a run share."""
    return sum(type.bytes for type in fixed(traces).values())


def _precision(stage: StageTrace) -> dict[str, Any]:
    """The stage's policy, and those that stand over it by the scope of the models inside."""
    scopes: dict[str, str] = {}
    graph = stage.traced.graph
    for node in graph.nodes:
        origin = graph.origin(node) if node.policy else None
        if node.policy and node.operands:
            scopes.setdefault(origin.scope if origin and origin.scope else "/", node.policy)
    return {"default": stage.precision, "scopes": scopes}


def _group(number: int, group: Group, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    return {
        "name": str(number),
        "optimizer": group.name,
        "parameters": len(group.paths),
        "count": sum(parameters[path].type.size for path in group.paths),
        "hyper": dict(group.facts),
    }
