"""What two experiments differ in, files or runs alike: both are traced, and told apart by area.

No change to training is equal training IR, data, seed, steps, precision: an equal experiment id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .compile.identity import training_roots
from .compile.phases import Phases
from .compile.traces import Traces, trace_experiment
from .ir import Graph, Operations
from .ir.hash import graph_hash
from .records import NamedTuple
from .runtime.comparison import Change
from .staging.initialize import Initializer

AREAS = ("knob", "run", "data", "parameter", "objective", "graph", "optimizer", "evaluation")
"""In the order in which they are told; then module."""


LONGEST = 48
"""Characters of a value in words; a document has it whole."""


class Facts(NamedTuple):
    """What is compared of a side, by area: a text for each path. `text`: of the file."""

    experiment_id: str
    ir_sha256: str
    selection: Mapping[str, Any]
    text: str
    areas: Mapping[str, Mapping[str, str]]


class Difference(NamedTuple):
    """`verdict`: identical, no-change-to-training or changed."""

    verdict: str
    headline: str
    changes: list[Change]


def facts(loaded: Any, operations: Operations) -> Facts:
    """Of a file that was read with a selection. Traces it; raises Problem or Problems."""
    experiment = loaded.experiment
    traces = trace_experiment(experiment, loaded.evaluator, operations, loaded.loaders, Phases())
    run = experiment.run
    areas: dict[str, Mapping[str, str]] = {
        "knob": {knob.name: knob.text for knob in experiment.knobs.values()},
        "run": {
            "seed": str(run.seed),
            "steps": str(traces.steps),
            "precision": str(run.precision),
            "deterministic": str(run.deterministic),
            "microbatches": str(run.microbatches),
            "finite-guard": str(run.finite_guard),
        },
        "data": _data(traces),
        "parameter": _parameters(traces),
        "objective": _metrics(traces),
        "graph": _graph(traces),
        "optimizer": _optimizer(traces),
        "evaluation": traces.evaluations(traces.judgements()),
        "module": {m.name: m.sha256[:12] for m in experiment.modules},
    }
    return Facts(traces.identity, traces.ir, experiment.chosen(), experiment.text, areas)


def _data(traces: Traces) -> dict[str, str]:
    """What each stage that trains reads, and how."""
    found = {}
    for key in traces.stages:
        loader, _, stage = key.partition(":")
        of = traces.experiment.loaders[loader]
        declared = of.stages[stage]
        found[key] = traces.tracing.loaders[loader].fingerprint(stage)[:12]
        found[f"{key} batch"] = str(traces.stages[key].rows)
        found[f"{key} split"] = str(declared.split)
        found[f"{key} order"] = str(declared.order or "shuffled")
        windows = declared.windows or of.windows
        found[f"{key} windows"] = str(tuple(windows)) if windows else "none"
    return found


def _parameters(traces: Traces) -> dict[str, str]:
    found = {}
    for stage in traces.stages.values():
        for path, parameter in stage.traced.parameters.items():
            found[path] = f"{parameter.type} of {_init(parameter.init)}"
    return found


def _init(init: Any) -> str:
    """An initializer as a file has it; of a program what it is called."""
    if not isinstance(init, Initializer):
        return "a program"
    numbers = [f"{n:g}" for n in init.numbers]
    return numbers[0] if init.kind == "number" else f"({' '.join([init.kind, *numbers])})"


def _metrics(traces: Traces) -> dict[str, str]:
    """What a stage reports, and what it is trained on."""
    return {
        f"{key.partition(':')[2]}/{m.name}": m.kind
        for key, stage in traces.stages.items()
        for m in stage.traced.metrics
    }


def _graph(traces: Traces) -> dict[str, str]:
    """How often each operation stands in what training depends on; of each stage."""
    operations = traces.tracing.operations
    found = {}
    for key, stage in traces.stages.items():
        graph, roots = stage.traced.graph, training_roots(stage.traced)
        for name, count in _counts(graph, roots).items():
            found[f"{key} {name}"] = str(count)
        found[f"{key} hash"] = graph_hash(graph, operations, roots)[:12]
    return found


def _counts(graph: Graph, roots: list[str]) -> Counter[str]:
    seen: set[int] = set()
    waiting = [graph.results[name].node for name in roots]
    found: Counter[str] = Counter()
    while waiting:
        node = waiting.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        if node.operands:
            found[node.operation] += 1
        waiting.extend(v.node for v in node.operands)
    return found


def _optimizer(traces: Traces) -> dict[str, str]:
    found = {}
    for key, stage in traces.stages.items():
        for number, group in enumerate(stage.optimization.groups, 1):
            where = f"group {number}" if len(traces.stages) == 1 else f"{key} group {number}"
            found[where] = f"{group.name} of {len(group.paths)} parameters"
            found.update({f"{where} {name}": str(value) for name, value in group.facts})
            found[f"{where} every"] = str(group.every)
    return found


ELSEWHERE = "its data or the program's version, which are not as they were"


def outdated(
    own: Any,
    now: Any,
    experiment_id: str,
    operations: Callable[[Any], Operations],
    data: Sequence[Mapping[str, Any]] = (),
) -> list[str]:
    """What tells a file from the experiment that it, or a run's `own`, was: a text each. `data`:
    what a manifest says of it."""
    before, after = (facts(loaded, operations(loaded.registry)) for loaded in (own, now))
    told = [said(change) for change in difference(before, after).changes if change.trains]
    if before.experiment_id == experiment_id:
        return told
    return [*(list(_other_data(data, own.loaders)) or [ELSEWHERE]), *told]


def _other_data(data: Sequence[Mapping[str, Any]], loaders: Mapping[str, Any]) -> Iterator[str]:
    """The loaders of a manifest whose data or tokenizer are others now."""
    for before in data:
        if before.get("loader") not in loaders:
            continue
        now = loaders[before["loader"]].identity()
        if before["fingerprint"] != now["fingerprint"]:
            same = before.get("tokenizer") == now.get("tokenizer")
            yield f"the {'data' if same else 'tokenizer'} of loader {before['loader']}"


def difference(a: Facts, b: Facts, areas: tuple[str, ...] = ()) -> Difference:
    """`areas`: only these."""
    trains = a.experiment_id != b.experiment_id
    found = [
        c
        for area in (*AREAS, "module")
        for c in _renamed(list(_changes(area, a, b, trains)), _alike(area, a, b, trains))
    ]
    told = [c for c in found if not areas or c.area in areas]
    if not trains and a.text == b.text and a.selection == b.selection and not found:
        return Difference("identical", "identical", told)
    if not trains:
        rest = _short([c for c in found if not c.trains])
        headline = "no change to training" + (f"; {rest}" if rest else "")
        return Difference("no-change-to-training", headline, told)
    return Difference("changed", _short(found) or "training changed", told)


def _changes(area: str, a: Facts, b: Facts, trains: bool) -> Iterator[Change]:
    left, right = a.areas[area], b.areas[area]
    # the hash of a graph says something only where the counts do not
    counted = area == "graph" and any(
        left.get(k) != right.get(k) for k in {**left, **right} if not k.endswith(" hash")
    )
    for path in dict.fromkeys([*left, *right]):
        before, after = left.get(path), right.get(path)
        if before == after or (counted and path.endswith(" hash")):
            continue
        kind = "added" if before is None else "removed" if after is None else "changed"
        if area == "parameter" and kind == "changed" and before and after:
            kind = "reshaped" if before.partition(" of ")[0] != after.partition(" of ")[0] else kind
        matters = trains and area not in ("evaluation", "module")
        yield Change(area, path, kind, before, after, matters)


def _alike(area: str, a: Facts, b: Facts, trains: bool) -> bool:
    """Whether what is gone and what is new of an area are one thing under two names, where they say
    the same: knobs, if training is one; parameters, if the graph does as many of each operation."""
    if area == "parameter":
        counts = [
            {k: n for k, n in of.areas["graph"].items() if not k.endswith(" hash")} for of in (a, b)
        ]
        return counts[0] == counts[1]
    return area == "evaluation" or (area == "knob" and not trains)


def _renamed(found: list[Change], alike: bool) -> list[Change]:
    """With one change in place of each two that only a name tells apart, in order."""
    if not alike:
        return found
    gone = [c for c in found if c.kind == "removed"]
    kept: list[Change] = []
    for change in found:
        old = next((c for c in gone if c.a == change.b), None) if change.kind == "added" else None
        if old is None:
            kept.append(change)
            continue
        gone.remove(old)
        kept[kept.index(old)] = change._replace(kind="renamed", a=old.path, b=change.path)
    return kept


def _short(found: list[Change]) -> str:
    """The first few changes, of the area that says most: knobs, if they say it all."""
    by = {area: [c for c in found if c.area == area] for area in (*AREAS, "module")}
    first = next((changes for changes in by.values() if changes), [])
    told = ", ".join(said(c) for c in first[:3])
    more = len(first) - 3
    return told + (f", and {more} more" if more > 0 else "")


def said(change: Change) -> str:
    """One change in words."""
    where = change.path if change.area == "knob" else f"{change.area} {change.path}"
    if change.kind == "renamed":
        old = change.a if change.area == "knob" else f"{change.area} {change.a}"
        return f"{old} renamed {change.b}"
    if change.kind in ("added", "removed"):
        return f"{where} {change.kind}: {_cut(change.a or change.b)}"
    return f"{where} {_cut(change.a)} -> {_cut(change.b)}"


def _cut(text: str | None) -> str:
    told = text or "nothing"
    return told if len(told) <= LONGEST else f"{told[: LONGEST - 3]}..."
