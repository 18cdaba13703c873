"""The promises, one function each: what was seen, or why there is nothing to see."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..diagnostics import Diagnostic
from ..ir.graph import Graph, Node
from ..records import NamedTuple
from ..runtime.job import MetricSpec
from ..spans import Span
from ..staging.metrics import kinds_of
from .trial import Arrays, Trial

HOLDS, FAILS, NOT_APPLICABLE = "holds", "fails", "not applicable"
STEPS = 200
SECONDS = 8.0
"""What overfitting one batch may take of the processor, at most."""
FALLEN = 0.8
"""A loss below this share of the first is said to fall."""
TENSORS = 12
"""Parameters whose gradients are compared, at most: the largest, and some of the others."""
DIFFER = {"stop-gradient", "straight-through", "gradient-scale"}
"""Operations that give another gradient than that of the value, as they are meant to."""


class Seen(NamedTuple):
    """`told`: with numbers. `span`: where it comes from, if that is known."""

    verdict: str
    told: str
    span: Span | None = None


Check = Callable[[Trial, list[Diagnostic]], Seen]


def _not(why: str) -> Seen:
    return Seen(NOT_APPLICABLE, why)


def chance(trial: Trial, said: list[Diagnostic]) -> Seen:
    """The first loss is near that of a guess: ln of the classes."""
    if len(trial.stage.traced.losses) > 1:
        return _not("there are several losses")
    classes = _classes(trial)
    if len(classes) != 1 or 0 in classes:
        return _not("the loss is of no one cross-entropy")
    guess = math.log(classes.pop())
    loss = _loss(trial.gradients(trial.batch(0)))
    near = math.isfinite(loss) and 0.6 * guess <= loss <= guess + 1.5
    return Seen(HOLDS if near else FAILS, f"loss {loss:.4g}, a guess gives {guess:.4g}")


def _classes(trial: Trial) -> set[int]:
    """How many classes the cross-entropies of the loss choose from."""
    graph = trial.stage.traced.graph
    found: set[int] = set()
    for node in _below(graph.results[trial.stage.traced.losses[0]].node):
        if node.operation == "cross-entropy":
            found.add(node.operands[0].shape[int(node.get("axis", -1))])
        elif node.operation == "binary-cross-entropy":
            found.add(2 if len(node.types[0].shape) < 2 else 0)  # of a sum over parts: no one guess
    return found


def _below(node: Node) -> Iterator[Node]:
    """A node and all that it is computed from."""
    seen, stack = {node.id}, [node]
    while stack:
        node = stack.pop()
        yield node
        new = [v.node for v in node.operands if v.node.id not in seen]
        seen.update(n.id for n in new)
        stack += new


def _loss(results: dict[str, Any]) -> float:
    return float(next(v for n, v in results.items() if n.startswith("loss")))


def overfit(trial: Trial, said: list[Diagnostic]) -> Seen:
    """The loss of one batch falls when the file's optimizer sees nothing else."""
    if len(trial.stage.traced.losses) > 1:
        return _not("there are several losses: what one gains another may lose")
    batch, at = trial.batch(0), trial.job.steps // 4
    first = last = math.nan
    end, step = time.process_time() + SECONDS, 0
    for step in range(STEPS):
        facts = trial.facts.due(step)
        outcome = trial.launch(facts, batch, trial.context(at, step))
        last = float(outcome.results.get("loss", math.nan))
        first = last if step == 0 else first
        if not math.isfinite(last):
            return Seen(FAILS, f"the loss is {last} after {step} steps on one batch")
        if last < FALLEN * first or (step >= 20 and time.process_time() > end):
            break
    trial.reset()
    falls = last < FALLEN * first or last < first <= 0
    told = f"one batch, {step} steps: loss {first:.4g} to {last:.4g}"
    if last < first and not falls and step < STEPS - 1:
        return _not(f"too slow to say: {told}")
    return Seen(HOLDS if falls else FAILS, told)


def repeats(trial: Trial, said: list[Diagnostic]) -> Seen:
    """A pass gives the same bits again, and leaves every value as it was."""
    found = _first_batches(trial)
    if not found:
        return _not("no pass has a whole batch" if trial.copy.traces.passes else "there is no pass")
    facts, batches = found
    names = [n for n in trial.job.persistent.types if not n.startswith("rows:")]
    before = {n: trial.session.read(n) for n in names}
    one = trial.launch(facts, batches[0], trial.context(0)).results
    trial.launch(facts, batches[-1], trial.context(0))
    two = trial.launch(facts, batches[0], trial.context(0)).results
    unlike = [n for n in one if one[n].tobytes() != two[n].tobytes()]
    moved = [n for n in names if before[n].tobytes() != trial.session.read(n).tobytes()]
    if unlike or moved:
        told = f"{unlike[0]} differs" if unlike else f"{moved[0]} is changed by a pass"
        return Seen(FAILS, told)
    return Seen(HOLDS, f"{len(one)} results, the same bits twice")


def _first_batches(trial: Trial) -> tuple[Any, list[Arrays]] | None:
    """The program of the first pass that has one for whole batches, and up to two of those."""
    for facts in trial.passes():
        if facts.whole is None or facts.loader is None or facts.output is not None:
            continue
        loader = trial.copy.loaded.loaders[facts.loader]
        found: list[Arrays] = []
        for batch in loader.evaluation(facts.stage, facts.batches, tuple(facts.whole.fields)):
            rows = len(next(iter(batch.values()))) if batch else 0
            if len(found) < 2 and (rows == facts.whole.rows or not found):
                found.append(batch)
            else:
                break
        if found:
            return facts.whole, found
    return None


def quiet(trial: Trial, said: list[Diagnostic]) -> Seen:
    """Nothing is dropped at random in a pass."""
    if not trial.copy.traces.passes:
        return _not("there is no pass")
    for name, trace in trial.copy.traces.passes.items():
        for _, traced, _ in trace.programs():
            masks = _masks(traced.graph)
            if masks:
                site, node = masks[0]
                origin = traced.graph.origin(node)
                span = origin.span if origin is not None else None
                return Seen(FAILS, f"pass {name} drops at random: {site}", span)
    drops = len(_masks(trial.stage.traced.graph))
    return Seen(HOLDS, f"{drops} places in training, none in a pass")


def _masks(graph: Graph) -> list[tuple[str, Node]]:
    """Random masks that results are computed from, by their sites."""
    live = graph.live()
    random = [n for n in graph.nodes if n.operation[:7] == "random-" and n.id in live]
    return [(str(n.get("site")), n) for n in random if "drop" in str(n.get("site"))]


def independent(trial: Trial, said: list[Diagnostic]) -> Seen:
    """Sums over examples do not depend on which stand together in a batch."""
    if any(d.code == "W-BATCH-DEPENDENCE" for d in said):
        return _not("the file says so: W-BATCH-DEPENDENCE")
    if any(s.rows for s in trial.stage.traced.states.values()):
        return _not("rows carry a state of their own")
    found = _first_batches(trial)
    if not found or len(found[1]) < 2 or found[0].rows < 2:
        return _not("no pass has two whole batches of two rows")
    facts, (one, two) = found
    batchwise = {d.facts.get("name") for d in said if d.code == "W-METRIC-BATCHWISE"}
    names = [n for m in facts.metrics for n in _sums(m) if m.name not in batchwise]
    if not names:
        why = "the file says so: W-METRIC-BATCHWISE" if batchwise else "no metric adds up"
        return _not(why)
    half = facts.rows // 2
    pairs = [(one, two), (_crossed(one, two, half), _crossed(two, one, half))]
    context = trial.context(0)
    apart = [[trial.launch(facts, b, context).results for b in pair] for pair in pairs]
    worst, where = 0.0, names[0]
    for name in names:
        if name not in apart[0][0]:
            continue
        (a, b), (c, d) = [[float(r[name]) for r in pair] for pair in apart]
        scale = max(abs(a), abs(b), abs(c), abs(d), 1e-6)
        error = abs((a + b) - (c + d)) / scale
        worst, where = max((worst, where), (error, name))
    verdict = HOLDS if worst <= 1e-3 else FAILS
    return Seen(verdict, f"halves of two batches exchanged: {where} differs by {worst:.1e}")


def _sums(metric: MetricSpec) -> list[str]:
    kinds = {"mean": ("sum", "weight"), "sum": ("value",)}.get(metric.kind, ())
    return [f"metric:{metric.name}:{kind}" for kind in kinds]


def _crossed(one: Arrays, two: Arrays, half: int) -> Arrays:
    import numpy as np

    return {n: np.concatenate([one[n][:half], two[n][half:]]) for n in one}


def microbatches(trial: Trial, said: list[Diagnostic]) -> Seen:
    """Gradients of the batch whole and in two parts are the same."""
    import numpy as np

    told = {d.code for d in said} & {"W-BATCH-DEPENDENCE", "W-CTX-SCALE"}
    if told:
        return _not(f"the file says so: {min(told)}")
    if 2 not in trial.traced:
        return _not("the batch has no two equal parts, or the objective is not affine in it")
    batch = trial.batch(0)
    whole, parts = trial.gradients(batch), trial.gradients(batch, 2)
    worst, where = 0.0, "loss"
    least = _least(_loss(whole))
    for name, a in whole.items():
        scale = float(np.sqrt(np.mean(np.square(a.astype(np.float64))))) + 1e-12
        if scale * a.size**0.5 <= least:
            continue  # nothing but rounding: of a bias before a norm, say
        error = float(np.max(np.abs(a - parts[name]), initial=0)) / scale
        worst, where = max((worst, where), (error, name))
    verdict = HOLDS if worst <= 2e-2 else FAILS
    return Seen(verdict, f"two parts: {where} differs by {worst:.1e} of its size")


def _least(loss: float) -> float:
    """Length of a gradient, or of a parameter's part, below which it may be rounding alone."""
    return 1e-6 * max(1.0, abs(loss))


def differences(trial: Trial, said: list[Diagnostic]) -> Seen:
    """The gradient along itself is the slope of the loss, parameter by parameter."""
    if len(trial.stage.traced.losses) > 1:
        return _not("there are several losses")
    meant = _meant(trial)
    if meant:
        return _not(f"the file has {meant}, whose gradient is meant to be another")
    batch = trial.batch(0)
    trial.shaken()
    try:
        return _compared(trial, batch)
    finally:
        trial.reset()


def _compared(trial: Trial, batch: Arrays) -> Seen:
    import numpy as np

    results = trial.gradients(batch)
    loss, seen = _loss(results), 0
    for name in _chosen(results):
        path = name.partition(":")[2]
        g = results[name].astype(np.float64)
        size = float(np.sqrt(np.sum(g * g)))
        if not size > _least(loss):
            continue
        seen += 1
        slopes = []
        for by in (1.0, 0.1, 10.0):  # another step where a kink or rounding is in the way
            slopes.append(_slope(trial, batch, path, g / size, size, loss, by))
            if abs(slopes[-1] - size) <= 0.1 * size:
                break
        else:
            span = trial.stage.traced.parameters[path].span
            told = f"{path}: the gradient's size is {size:.4g}, the slope {slopes[0]:.4g}"
            return Seen(FAILS, told, span)
    if not seen:
        return _not("no gradient is large enough to compare")
    return Seen(HOLDS, f"{seen} parameters, slopes within 10 %{_idle(results, _least(loss))}")


def _idle(results: dict[str, Any], least: float) -> str:
    """Parameters that the loss does not depend on, as a bias is before a norm that takes it away:
    a weight to carry, if it is so in the file as in this copy of it."""
    import numpy as np

    lengths = {n: float(np.linalg.norm(g)) for n, g in results.items() if n[:9] == "gradient:"}
    idle = [name.partition(":")[2] for name, length in lengths.items() if length <= least]
    if not idle:
        return ""
    return f"; the loss here does not depend on {idle[0]}" + (
        f" and {len(idle) - 1} more" if idle[1:] else ""
    )


def _meant(trial: Trial) -> str:
    """An operation of the loss that changes the gradient of what parameters reach."""
    graph = trial.stage.traced.graph
    for node in _below(graph.results[trial.stage.traced.losses[0]].node):
        if node.operation in DIFFER and "parameter" in kinds_of(node.operands[0]):
            return str(node.operation)
    return ""


def _chosen(results: dict[str, Any]) -> list[str]:
    names = sorted(
        (n for n in results if n.startswith("gradient:")), key=lambda n: -results[n].size
    )
    if len(names) <= TENSORS:
        return names
    half = TENSORS // 2
    rest = names[half:]
    return names[:half] + rest[:: max(1, len(rest) // half)][:half]


def _slope(
    trial: Trial, batch: Arrays, path: str, direction: Any, size: float, loss: float, by: float
) -> float:
    """Central difference of the loss along a direction, over a step that moves it by about 1e-3."""
    name = f"parameter:{path}"
    kept = trial.session.read(name)
    step = by * 1e-3 * max(1.0, abs(loss)) / size
    sides = []
    for sign in (1.0, -1.0):
        trial.session.write(name, (kept + sign * step * direction).astype(kept.dtype))
        sides.append(_loss(trial.gradients(batch)))
    trial.session.write(name, kept)
    return (sides[0] - sides[1]) / (2 * step)


CHECKS: tuple[tuple[str, str, Check, str], ...] = (
    ("chance", "the first loss is near that of a guess", chance, "W-DEEP-CHANCE"),
    ("gradients", "gradients are slopes of the loss", differences, "E-DEEP-DIFFERS"),
    ("microbatches", "microbatches do not change gradients", microbatches, "E-DEEP-DIFFERS"),
    ("evaluation", "a pass gives the same bits again", repeats, "E-DEEP-DIFFERS"),
    ("dropout", "nothing is dropped at random in a pass", quiet, "E-DEEP-DIFFERS"),
    ("independence", "an example does not see the others", independent, "E-DEEP-DIFFERS"),
    ("overfit", "one batch can be overfitted", overfit, "E-DEEP-OVERFIT"),
)
"""Name, what it says, the function, and the code of what fails; in this order."""
