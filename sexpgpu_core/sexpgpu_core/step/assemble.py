"""A traced stage and its optimizer to the step graph: blocks, backward, verdict, clip, updates.

Results: `next:KIND:NAME` for every persistent value that changes, `verdict`, `loss` (and
`loss:NAME`), `norm`, the metrics' sums, and `empty`, where weighted means may weigh nothing.
Nothing persistent changes where `verdict` is false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from ..autodiff import GradientBuilder, differentiate
from ..ir import Builder, Graph, Operations, Value
from ..staging.traced import EMPTY_BLOCK, EMPTY_STEP, Optimization, Traced, ratios_of
from .blocks import inline, unroll
from .scaling import seed, unscaled
from .updates import (
    Updates,
    average,
    averaged_states,
    clip_value,
    combine_states,
    groups_due,
    scalar,
    unaveraged,
)
from .verdict import clip_scale, finite, gradient_norm

Unreached = Callable[[list[str]], None]
"""Told the trainable parameters that no gradient reaches; raises Problems."""


_COMBINE = {"max": "maximum", "min": "minimum"}


def build_step(
    traced: Traced,
    optimization: Optimization,
    operations: Operations,
    *,
    microbatches: int = 1,
    guard: bool = True,
    scaled: bool = False,
    unreached: Unreached | None = None,
    groups: frozenset[int] | None = None,
) -> Graph:
    """The graph of one training step. Microbatches are unrolled: each block is a copy. `scaled`:
    the loss is scaled for the backward pass, and a step whose gradients overflow is dropped.
    `groups`: those that are updated, all by default; of others nothing moves but the averages."""
    due = groups_due(optimization, groups)
    blocks, b = blocks_of(traced, optimization, operations, microbatches)
    losses = losses_of(b, traced, blocks)
    gradients = gradients_of(b, optimization, operations, losses, list(due), scaled)
    missing = [path for path in due if path not in gradients]
    if missing and unreached is not None:
        unreached(missing)
    results: dict[str, Value] = {}
    _metrics(b, traced, blocks, results)
    guard = guard or scaled
    _commit(b, traced, optimization, blocks, losses, gradients, guard, results)
    _empty(b, traced, blocks, results)
    b.graph.results = results
    return b.graph


def blocks_of(
    traced: Traced, optimization: Optimization, operations: Operations, microbatches: int
) -> tuple[list[Mapping[str, Value]], GradientBuilder]:
    """Results of each block, all in one graph that the builder goes on with.

    The traced graph is copied through the local rules and stays as written, for its hash.
    """
    b = GradientBuilder(operations, Graph())
    if microbatches > 1:
        ratios = ratios_of(traced.graph)
        rows, others = traced.rows, unaveraged(optimization, b)
        return list(unroll(traced.graph, b, microbatches, rows, ratios, others)), b
    went = inline(traced.graph, b, unaveraged(optimization, b))
    b.policy, b.copy = "", 0
    return [{name: went[v.node.id, v.result] for name, v in traced.graph.results.items()}], b


def losses_of(b: Builder, traced: Traced, blocks: list[Mapping[str, Value]]) -> dict[str, Value]:
    """Each loss: the mean over blocks (an affine combination of batch means, 45.4), or their sum
    where it is a sum over the batch."""
    found = {}
    for name in traced.losses:
        total = blocks[0][name]
        for block in blocks[1:]:
            total = b("add", total, block[name])
        if len(blocks) > 1 and name not in traced.summed:
            total = b("multiply", total, b.constant(1.0 / len(blocks), total.dtype))
        found[name] = total
    return found


def gradients_of(
    b: GradientBuilder,
    optimization: Optimization,
    operations: Operations,
    losses: Mapping[str, Value],
    paths: list[str],
    scaled: bool,
) -> dict[str, Value]:
    """The gradient of its group's loss for every parameter that it reaches."""
    inputs = {n.get("name"): Value(n) for n in b.graph.inputs() if n.get("kind") == "parameter"}
    found: dict[str, Value] = {}
    for name, loss in losses.items():
        wanted = {
            path: inputs[path]
            for path in paths
            if path in inputs and _loss_of(optimization, path) in (None, name)
        }
        start = seed(b, loss) if scaled else 1.0
        for path, g in differentiate(b.graph, operations, loss, wanted, start, b).items():
            if g is not None:
                found[path] = g
    gradients = {path: found[path] for path in paths if path in found}
    return unscaled(b, gradients) if scaled else gradients


def _loss_of(optimization: Optimization, path: str) -> str | None:
    loss = optimization.groups[optimization.group_of[path]].loss
    return None if loss is None else f"loss:{loss}"


def _metrics(
    b: Builder,
    traced: Traced,
    blocks: list[Mapping[str, Value]],
    results: dict[str, Value],
) -> None:
    """Sums and weights add over blocks; max and min combine."""
    combine = {f"metric:{m.name}:value": _COMBINE.get(m.kind, "add") for m in traced.metrics}
    for name, value in blocks[0].items():
        if not name.startswith("metric:"):
            continue
        for block in blocks[1:]:
            value = b(combine.get(name, "add"), value, block[name])
        results[name] = value


def _empty(
    b: Builder, traced: Traced, blocks: list[Mapping[str, Value]], results: dict[str, Value]
) -> None:
    """How many weight sums of the losses are 0 in the whole step (45.4). A ratio's test is of all
    blocks in each; where a weight is known to be another number, none is left."""
    block = blocks[0]
    tests = [
        block[f"ratio:{number}:node"].node.operands[0]
        for number, ratio in enumerate(ratios_of(traced.graph))
        if ratio.node.node.operation == block[f"ratio:{number}:node"].node.operation == "where"
    ]
    counts = [b("cast", test, dtype="f32") for test in tests]
    counts += [each[EMPTY_BLOCK] for each in blocks if EMPTY_BLOCK in each]
    counts += [block[EMPTY_STEP]] if EMPTY_STEP in block else []
    counts = [c for c in counts if c.node.operation != "constant" or c.node.get("value")]
    if not counts:
        return
    results["empty"] = reduce(lambda total, count: b("add", total, count), counts)


def _commit(
    b: Builder,
    traced: Traced,
    optimization: Optimization,
    blocks: list[Mapping[str, Value]],
    losses: Mapping[str, Value],
    gradients: dict[str, Value],
    guard: bool,
    results: dict[str, Value],
) -> None:
    results.update(losses)
    wants_norm = guard or optimization.clip_norm is not None
    norm = gradient_norm(b, gradients.values()) if wants_norm else None
    if norm is not None:
        results["norm"] = norm
    if guard and norm is not None:
        results["verdict"] = finite(b, (*losses.values(), norm))
    moved = updated(b, optimization, gradients, norm)
    for path in groups_due(optimization):
        _update(b, optimization, path, moved.get(path, {}), results)
    proposals = [
        {n.removeprefix("proposal:"): v for n, v in block.items() if n.startswith("proposal:")}
        for block in blocks
    ]
    for name, value in combine_states(b, traced.states, proposals, traced.rows).items():
        results[f"next:{name}"] = value
        if optimization.ema is not None and name in averaged_states(traced, optimization):
            path, decay = name.partition(":")[2], optimization.ema
            for key, mean in average(b, path, decay, value).items():
                results[f"next:{key}"] = mean


def updated(
    b: Builder, optimization: Optimization, gradients: dict[str, Value], norm: Value | None
) -> dict[str, dict[str, Value]]:
    """Next values of each parameter and its optimizer states, by path; gradients are clipped."""
    if optimization.clip_value is not None:
        gradients = clip_value(b, gradients, scalar(b, optimization.clip_value))
    if optimization.clip_norm is not None and norm is not None:
        gradients = _clipped(b, optimization, gradients, norm)
    updates = Updates(b)
    return {
        path: updates.parameter(path, update, gradients[path])
        for path, update in groups_due(optimization).items()
        if path in gradients
    }


def _clipped(
    b: Builder, optimization: Optimization, gradients: dict[str, Value], norm: Value
) -> dict[str, Value]:
    scale = clip_scale(b, norm, scalar(b, optimization.clip_norm, norm.dtype))
    return {
        path: b("multiply", g, scale if g.dtype == scale.dtype else b("cast", scale, dtype=g.dtype))
        for path, g in gradients.items()
    }


def _update(
    b: Builder,
    optimization: Optimization,
    path: str,
    new: dict[str, Value],
    results: dict[str, Value],
) -> None:
    for name, value in new.items():
        results[f"next:{name}"] = value
    if optimization.ema is not None:
        param = new.get(f"parameter:{path}")
        if param is None:  # of a group that is not due
            type = optimization.updates[path].body.results["param"].type
            param = b.input(path, "parameter", *type)
        for name, value in average(b, path, optimization.ema, param).items():
            results[f"next:{name}"] = value
