"""A sweep's folder: sweep.json, replaced whole, with what became of every point."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..diagnostics import problem
from ..records import NamedTuple
from ..runtime import documents, events, runs
from ..runtime.clock import Clock, seconds_of
from ..runtime.lock import holder
from ..runtime.process import living, this_host
from ..runtime.slug import LONGEST, clean
from ..runtime.status import FINAL, LOST_AFTER
from .points import Point, Points, Rank, over, rank
from .ranking import Result, judged_by, table, value_at

FILE = "sweep.json"


class Work(NamedTuple):
    """A point of a sweep that is run: `run` once it has a folder, `error` a code.

    `identity` None: it is not known yet, or its file does not check, which `error` says.
    """

    name: str
    identity: str | None
    state: str = "pending"
    run: Path | None = None
    reused: bool = False
    exit: int | None = None
    error: str | None = None


def folder_of(root: Path, file: str, points: Points, content: str | None) -> Path:
    """sweep-STEM-NAME-HASH: the same points over the same content of a file are one folder."""
    told = repr((points.sweep.name, content, [tuple(point) for point in points.points])).encode()
    name = clean(f"sweep-{clean(Path(file).stem) or 'stdin'}-{points.sweep.name}")
    return root / f"{name[:LONGEST].rstrip('-.')}-{hashlib.sha256(told).hexdigest()[:6]}"


Known = dict[Path, tuple[Result, dict[str, Any]]]
"""What runs that have finished say, by their folders: they are read once."""


def document(points: Points, work: Sequence[Work], known: Known, **facts: Any) -> dict[str, Any]:
    """sweep.json, by contracts/schemas/sweep.json. `facts`: file state started_at heartbeat ..."""
    ranked = rank(points.sweep)
    told_of = [_told(point, w, ranked, known) for point, w in zip(points.points, work)]
    results = [result for result, _ in told_of]
    told = {
        "version": documents.VERSION,
        "document": "sweep",
        "name": points.sweep.name,
        **facts,
        "doc": points.sweep.doc,
        "counts": dict(Counter(w.state for w in work)),
        "rank": ranked.told() if ranked else None,
        "over": list(over(points.sweep)),
        "points": [_point(r, w, more) for (r, more), w in zip(told_of, work)],
        **_ranked(results, ranked, over(points.sweep)),
    }
    return dict(events.numbers(told))


def _ranked(results: Sequence[Result], rank: Rank | None, over: Sequence[str]) -> dict[str, Any]:
    """The keys that say how rows compare."""
    rows, otherwise = table(results, rank, over)
    ids = {r.evaluation for r in results if r.evaluation is not None}
    told = {"evaluation_id": ids.pop() if len(ids) == 1 else None, "table": rows}
    return {**told, "omitted": {"table": otherwise}} if otherwise else told


def _told(
    point: Point, work: Work, ranked: Rank | None, known: Known
) -> tuple[Result, dict[str, Any]]:
    """What a point came to, and how far its run is."""
    run = None
    if work.run is not None:
        kept = known.get(work.run)
        if kept is not None:
            return kept[0]._replace(point=point), kept[1]
        run = runs.read(work.run)
    if run is None or work.run is None:
        return Result(point, work.state, None, None), {}
    value = value_at(run, ranked) if ranked is not None else None
    more = {key: run.status[key] for key in ("step", "elapsed")} if run.status else {}
    told = Result(point, work.state, value, judged_by(run, ranked)), more
    if work.state == "finished":
        known[work.run] = told
    return told


def _point(result: Result, work: Work, more: dict[str, Any]) -> dict[str, Any]:
    point = result.point
    told: dict[str, Any] = {
        **{"point": point.name, "values": point.values, "seed": point.seed},
        **{"state": work.state, "run": work.run.name if work.run else None},
        "value": result.value,
    }
    if work.state == "pending":
        return told
    return {**told, "reused": work.reused, "exit": work.exit, "error": work.error, **more}


def find(root: Path, text: str) -> Path | None:
    """The sweep's folder that RUN means: a path, its name, a unique beginning of it; or None.

    Raises E-USAGE-AMBIGUOUS.
    """
    for path in (Path(text), root / text):
        if os.path.isfile(path / FILE):  # False too for what is no path
            return path
    if not text.startswith("sweep-") or os.path.exists(root / text):
        return None
    fits = [p for p in runs.folders(root) if p.name.startswith(text) and (p / FILE).is_file()]
    if len(fits) > 1:
        told = " ".join(sorted(path.name for path in fits)[:5])
        raise problem("E-USAGE-AMBIGUOUS", f"{text} begins {len(fits)} sweeps: {told}")
    return fits[0] if fits else None


def _held(path: Path, said: dict[str, Any]) -> bool:
    """Whether a process is at it: looked up on this host, else by its heartbeat, as of runs."""
    told = holder(path / "run.lock")
    if told is not None and told.get("host") == this_host():
        return living(int(told["pid"]), told)
    return Clock().now() - seconds_of(said["heartbeat"]) < LOST_AFTER


def read(path: Path) -> dict[str, Any]:
    """The document of a sweep's folder, its points as their runs are now; one whose process is
    gone is stopped, and not alive.

    Raises E-USAGE-BROKEN.
    """
    try:
        said = dict(json.loads((path / FILE).read_bytes()))
        gone = said["state"] == "running" and not _held(path, said)
        begun = _begun(path.parent, said) if gone or _waits(said) else {}
        points = [_now(path, point, begun, gone) for point in said["points"]]
        counts = dict(Counter(point["state"] for point in points))
        told = {**said, "points": points, "counts": counts}
        return {**told, **_left(path, told), "state": "stopped", "alive": False} if gone else told
    except (OSError, ValueError, KeyError, TypeError) as wrong:
        raise documents.broken(path / FILE, f"it cannot be read ({wrong})", "syntax") from None


def _left(root: Path, said: dict[str, Any]) -> dict[str, Any]:
    """How rows compare now, where nobody is there to say it; the values of points are put in."""
    rank = Rank.of(said["rank"])
    results = []
    for point in said["points"]:
        own = Point(point["point"], point["values"], point["seed"])
        run = runs.readable(root.parent / point["run"]) if point["run"] else None
        value = value_at(run, rank) if run is not None and rank is not None else None
        point.update(events.numbers({"value": value}))
        judged = judged_by(run, rank) if run is not None else None
        results.append(Result(own, point["state"], value, judged))
    return dict(events.numbers(_ranked(results, rank, said.get("over", ()))))


def _waits(said: dict[str, Any]) -> bool:
    """Whether a point was to be begun when the document was written."""
    return any(point["state"] == "queued" for point in said["points"])


def _now(
    path: Path, point: dict[str, Any], begun: dict[str, runs.Run], gone: bool
) -> dict[str, Any]:
    """A point that had not ended when the document was written, as its run is."""
    if point["state"] in FINAL or (point["state"] == "pending" and not gone):
        return point
    name = point["run"]
    run = runs.read(path.parent / name) if name else begun.get(point["point"])
    if run is None:
        return {**point, "state": "pending" if gone else point["state"]}
    told = run.status or {}
    known = {key: told[key] for key in ("step", "elapsed", "exit") if key in told}
    error = (told.get("error") or {}).get("code")
    return {**point, "state": run.state, "run": run.path.name, **known, "error": error}


def _begun(root: Path, said: dict[str, Any]) -> dict[str, runs.Run]:
    """The newest runs that were begun for points since the sweep's process began."""
    found: dict[str, runs.Run] = {}
    for run in runs.listing(root):
        of = run.manifest.get("sweep") or {}
        since = run.manifest["created_at"] >= said["started_at"]
        same = Path(run.manifest["file"]).name == Path(said["file"]).name
        if since and same and of.get("name") == said["name"]:
            found.setdefault(of["point"], run)
    return found
