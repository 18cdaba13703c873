"""What differs between two runs: what was chosen, read and used; and their numbers, with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..records import NamedTuple
from . import ranking
from .runs import Run

CONFIDENCE = 0.95

T975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
"""Student's t at 0.975 for 1 to 30 degrees of freedom."""


class Stat(NamedTuple):
    """Of a number over runs that differ in their seed alone. `deviation` None: of one run."""

    mean: float
    deviation: float | None
    n: int


def siblings(run: Run, runs: Sequence[Run]) -> list[Run]:
    """The finished runs that differ from one in nothing that trains but the seed, and itself."""
    if run.history:  # no other went that way
        return [run]
    same = [
        other
        for other in runs
        if other.path != run.path
        and other.state == "finished"
        and other.manifest["steps"] == run.manifest["steps"]
        and _written(other.manifest) == _written(run.manifest)
        and other.manifest["seed"] != run.manifest["seed"]
        and not other.history
    ]
    seeds = {other.manifest["seed"]: other for other in same}  # one a seed
    return [run, *seeds.values()]


def stat(runs: Sequence[Run], metric: str) -> Stat | None:
    """Over the runs that have the number; None where none has."""
    values = [v for run in runs if math.isfinite(v := ranking.value(run, metric))]
    if not values:
        return None
    mean, n = math.fsum(values) / len(values), len(values)
    if n == 1:
        return Stat(mean, None, 1)
    return Stat(mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1)), n)


def interval(a: Stat, b: Stat) -> tuple[float, float] | None:
    """Of b - a, by Welch's t test (1947) at 95 %; None where a side is one run."""
    if a.deviation is None or b.deviation is None:
        return None
    parts = (a.deviation**2 / a.n, b.deviation**2 / b.n)
    spread = sum(parts)
    if spread == 0.0:
        return (b.mean - a.mean, b.mean - a.mean)
    freedom = spread**2 / (parts[0] ** 2 / (a.n - 1) + parts[1] ** 2 / (b.n - 1))
    t = T975[max(0, min(len(T975), int(freedom)) - 1)]
    half = t * math.sqrt(spread)
    return (b.mean - a.mean - half, b.mean - a.mean + half)


def _written(manifest: Mapping[str, Any]) -> tuple[Any, ...]:
    """All of what trains but seed and steps."""
    texts = [(file["path"], file["sha256"]) for file in manifest.get("files", ())]
    chosen = manifest["selection"]["values"]
    said = (manifest.get("precision"), manifest.get("deterministic"), manifest.get("parent"))
    return (texts, chosen, _data(manifest), *said)


class Result(NamedTuple):
    """One number of both. `verdict`: better worse within-noise unknown not-comparable, of b."""

    metric: str
    a: Stat | None
    b: Stat | None
    interval: tuple[float, float] | None
    verdict: str


def result(metric: str, a: Sequence[Run], b: Sequence[Run]) -> Result:
    """Compare a number of the runs of one side with that of the other."""
    same = {run.path for run in a} == {run.path for run in b}  # seeds of one: the noise itself
    left, right = stat(a[:1] if same else a, metric), stat(b[:1] if same else b, metric)
    if left is None or right is None:
        return Result(metric, left, right, None, "unknown")
    if same:
        return Result(metric, left, right, None, "within-noise")
    name = metric.partition("/")[0]
    ids = {ranking.evaluation(run, name) for run in (a[0], b[0])}
    if len(ids) > 1:
        return Result(metric, left, right, None, "not-comparable")
    between = interval(left, right)
    return Result(metric, left, right, between, _verdict(metric, a[0], b[0], between))


def _verdict(metric: str, a: Run, b: Run, between: tuple[float, float] | None) -> str:
    goal = ranking.goal_of(a, metric) or ranking.goal_of(b, metric)
    if between is None:
        return "unknown"
    if between[0] <= 0 <= between[1]:
        return "within-noise"
    if goal is None:
        return "unknown"
    return "better" if (between[1] < 0) == (goal == "min") else "worse"


class Change(NamedTuple):
    """`kind`: added removed changed reshaped, or renamed from `a` to `b`. `trains`: whether
    training is another for it."""

    area: str
    path: str
    kind: str
    a: str | None
    b: str | None
    trains: bool


def changes(a: Run, b: Run) -> list[Change]:
    """What manifests say differently, of what may matter."""
    found = [change for change in _changes(a.manifest, b.manifest) if change is not None]
    return [*found, *went_on(a, b)]


def went_on(a: Run, b: Run) -> list[Change]:
    """Where one of two runs was trained as another experiment before: --resume-changed."""
    left, right = (run.history or str(run.manifest["experiment_id"]) for run in (a, b))
    if not (a.history or b.history) or left == right:
        return []
    return [Change("run", "experiment", "changed", left, right, True)]


def _changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Change | None]:
    yield from _each("knob", a["selection"]["values"], b["selection"]["values"], False)
    yield _one("graph", "ir_sha256", a["ir_sha256"][:12], b["ir_sha256"][:12], True)
    for key in ("seed", "steps", "precision"):
        yield _one("run", key, a.get(key), b.get(key), True)
    yield from _each("data", _data(a), _data(b), True)
    yield from _each("evaluation", a["evaluation_ids"], b["evaluation_ids"], False)
    yield from _each("module", _modules(a), _modules(b), False)
    yield from _each("numerics", a.get("numerics", {}), b.get("numerics", {}), False)
    yield from _each("versions", a.get("versions", {}), b.get("versions", {}), False)
    yield _one("device", "name", a["device"]["name"], b["device"]["name"], False)


def _modules(manifest: Mapping[str, Any]) -> dict[str, str]:
    return {m["module"]: m["sha256"][:12] for m in manifest.get("modules", ())}


def _data(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A loader by its name, as what it read."""
    found = {}
    for at, entry in enumerate(manifest.get("data", ())):
        found[str(entry.get("loader", at))] = entry.get("sha256", entry.get("fingerprint", entry))
    return found


def _each(
    area: str, a: Mapping[str, Any], b: Mapping[str, Any], trains: bool
) -> Iterator[Change | None]:
    for key in dict.fromkeys([*a, *b]):
        yield _one(area, key, a.get(key), b.get(key), trains)


def _one(area: str, path: str, a: Any, b: Any, trains: bool) -> Change | None:
    if a == b:
        return None
    kind = "added" if a is None else "removed" if b is None else "changed"
    return Change(area, path, kind, _text(a), _text(b), trains)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
