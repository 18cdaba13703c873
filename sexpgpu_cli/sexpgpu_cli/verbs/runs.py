"""`runs`: what was run below here, newest first; `runs compare`: what differs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.diagnostics import nearest, problem
from sexpgpu_core.diagnostics.places import shown_path

from .. import units
from ..answer import Answer, bounded, cut, document
from ..flags import several, verb
from ..invocation import Invocation
from ..table import table
from .compare import compare

if TYPE_CHECKING:
    from sexpgpu_core.runtime.runs import Run

STATES = (
    *("compiling", "running", "evaluating", "checkpointing"),
    *("finished", "failed", "stopped", "preempted", "lost"),
)
ROWS = 15
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@verb("list")
@click.option("--file", metavar="F", help="Only runs of this file.")
@click.option("--state", "states", multiple=True, type=click.Choice(STATES), help="Only in it.")
@click.option("--metric", metavar="NAME", help="The number that is shown, and that runs must have.")
@click.option("--sort", metavar="created|METRIC", default="created", help="Newest or best first.")
@click.option("--since", metavar="TIME", help="2026-12-01, or 30m, 12h, 7d ago.")
def list_(
    invocation: Invocation,
    file: str | None,
    states: tuple[str, ...],
    metric: str | None,
    sort: str,
    since: str | None,
) -> Answer:
    """List runs, newest first, with their state and numbers."""
    from sexpgpu_core.runtime import runs as folder

    root = invocation.settings.runs
    start = _start(since) if since is not None else ""
    number = metric or (sort if sort != "created" else None)
    broken: list[Any] = []
    found = [run for run in folder.listing(root, broken.append) if _fits(run, file, states, start)]
    for fault in broken:
        invocation.say(f"{fault.code}: {fault.message}")
    if number is not None:
        found = _with(found, number)
    if sort != "created":
        found = _ranked(found, sort)
    again = invocation.whole()
    limit = invocation.limit
    shown, left = cut(found, limit)
    told = document("runs", root=shown_path(str(root)), runs=[row(run) for run in shown])
    if left:
        told.update(omitted={"runs": left}, more=again)
    return Answer(told, _text(found, number, min(limit, ROWS), again, limit))


def _fits(run: Run, file: str | None, states: tuple[str, ...], start: str) -> bool:
    if states and run.state not in states:
        return False
    if run.manifest["created_at"] < start:
        return False
    return file is None or of_file(run, file)


def of_file(run: Run, file: str) -> bool:
    """Whether it is a run of a file, as it is called here or was where the run began."""
    there = Path(run.manifest.get("cwd", "."), run.manifest["file"])
    return file == run.manifest["file"] or Path(file).resolve() == there.resolve()


def _start(text: str) -> str:
    """A time, or how long ago, as documents write times. Raises E-USAGE-VALUE."""
    from sexpgpu_core.runtime.clock import stamp

    ago = re.fullmatch(r"(\d+)([smhd])", text)
    if ago:  # a year of four digits is what times are compared by
        return stamp(max(0.0, time.time() - int(ago[1][:12]) * SECONDS[ago[2]]))
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        hint = "--since 2026-12-01, --since 2026-12-01T18:00:00Z, --since 12h"
        raise problem("E-USAGE-VALUE", f"--since {text} is no time", hint=hint) from None
    return stamp(moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp())


def _with(found: list[Run], number: str) -> list[Run]:
    kept = [run for run in found if number in (run.status or {}).get("metrics", {})]
    known = sorted({name for run in found for name in (run.status or {}).get("metrics", {})})
    if found and not kept:
        near = nearest(number, known)
        hint = f"did you mean {near}?" if near else f"known: {' '.join(known[:8])}"
        raise problem("E-USAGE-VALUE", f"no run has {number}", hint=hint, nearest=near)
    return kept


def _ranked(found: list[Run], metric: str) -> list[Run]:
    from sexpgpu_core.runtime import ranking

    goals = {goal for run in found if (goal := ranking.goal_of(run, metric))}
    sign = -1 if goals == {"max"} else 1
    key: Callable[[Run], tuple[bool, float]] = lambda run: _last(sign * ranking.value(run, metric))
    return sorted(found, key=key)


def _last(value: float) -> tuple[bool, float]:
    """NaN after all others."""
    return (value != value, value)


def row(run: Run) -> dict[str, Any]:
    """One run as the document has it."""
    manifest, told, chosen = run.manifest, run.status or {}, run.manifest["selection"]
    error = told.get("error") or (run.fault and {"code": run.fault.code}) or {}
    return {
        "run": run.path.name,
        "path": shown_path(str(run.path)),
        "file": manifest["file"],
        "variant": chosen.get("variant"),
        "set": chosen.get("set", {}),
        "sweep": (manifest.get("sweep") or {}).get("name"),
        "state": run.state,
        "step": told.get("step", 0),
        "steps": told.get("steps", manifest["steps"]),
        "started_at": told.get("started_at", manifest["created_at"]),
        "elapsed": told.get("elapsed", 0.0),
        "experiment_id": manifest["experiment_id"],
        "evaluation_ids": manifest["evaluation_ids"],
        "metrics": {name: at["value"] for name, at in told.get("metrics", {}).items()},
        "best": told.get("best", {}),
        "parent": _parent(manifest.get("parent")),
        "exit": told.get("exit"),
        "error": error.get("code"),
        "test_reads": run.test_reads,
    }


def _parent(told: Any) -> Any:
    return {"run": told["run"], "step": told["step"]} if told else None


def _text(found: list[Run], number: str | None, most: int, again: str, limit: int) -> str:
    if not found:
        return "no runs"
    shown = found[:most] if limit else found
    head = ["run", "state", "step", number or "number", "best", "took"]
    lines = table(head, [_cells(run, number) for run in shown], left=2)
    left = len(found) - len(shown)
    told = [f"... {left} more: {again}"] if left else []
    return bounded("\n".join([*lines, *told, *_reads(shown)]), again, limit)


def _reads(shown: list[Run]) -> list[str]:
    """How often :test stages were read for the numbers above, if they were."""
    read = [f"{run.path.name} {run.test_reads:,}" for run in shown if run.test_reads]
    return [f"reads of :test: {', '.join(read)}"] if read else []


def _cells(run: Run, number: str | None) -> list[str]:
    told: Any = run.status or {}
    steps = told.get("steps") or run.manifest["steps"]
    name = number or _headline(run)
    at, best = told.get("metrics", {}).get(name), told.get("best", {}).get(name)
    said = units.metric(at["value"]) if at else "-"
    return [
        run.path.name,
        run.state,
        f"{told.get('step', 0):,}/{steps:,}",
        said if number or not at else f"{name} {said}",
        units.metric(best["value"]) if best else "-",
        units.duration(told.get("elapsed")),
    ]


def _headline(run: Run) -> str | None:
    """The number that says most of a run: what it is best by, a pass's loss, any loss."""
    named: Iterable[str] = (run.status or {}).get("metrics", {})
    rank = run.manifest.get("rank")
    if rank and rank["metric"] in named:
        return str(rank["metric"])
    order = sorted(named, key=lambda n: (not n.endswith("/loss"), n.startswith("train/")))
    return order[0] if order else None


runs = several("runs", compare, alone=list_)
