"""A sweep to text: its ranked table, and what became of each point that is not in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import units
from .table import table

SHOWN = 8
"""Points that are named of those that did not finish, or have no number."""


def text(sweep: Mapping[str, Any], folder: Path, begun: bool = True) -> str:
    """The table, then points that failed or are left, then the folder, which one that never began
    has not."""
    counts = ", ".join(f"{n} {state}" for state, n in sweep["counts"].items())
    gone = "lost, its process is gone" if sweep.get("alive") is False else sweep["state"]
    lines = [f"{sweep['name']}: {gone}, {counts} of {len(sweep['points'])} points"]
    if sweep["table"]:
        lines += _table(sweep)
    if left := sweep.get("omitted", {}).get("table"):
        lacks = ", or lack folds," if sweep.get("over") else ""
        lines.append(f"{left} rows were judged otherwise{lacks} and are not ranked against these")
    lines += _numberless(sweep)
    others = [p for p in sweep["points"] if p["state"] not in ("finished", "pending")]
    lines += [_other(p) for p in others[:SHOWN]]
    if others[SHOWN:]:
        lines.append(f"... and {len(others) - SHOWN} more points that have not finished")
    return "\n".join(
        [*lines, f"folder  {folder}" if begun else "no folder yet: nothing of it was begun"]
    )


def _numberless(sweep: Mapping[str, Any]) -> list[str]:
    """What finished and is not in the table, for it has no number that ranks."""
    if not sweep["rank"]:
        return []
    finished = [p for p in sweep["points"] if p["state"] == "finished"]
    names = [p["point"] for p in finished if not isinstance(p["value"], (int, float))]
    rest = " ..." if names[SHOWN:] else ""
    told = f"finished without a finite {sweep['rank']['metric']}: {' '.join(names[:SHOWN])}{rest}"
    return [told] if names else []


def _table(sweep: Mapping[str, Any]) -> list[str]:
    rank, rows = sweep["rank"], sweep["table"]
    knobs = list(rows[0]["values"])
    at = {"best": " (its best: chosen on itself)"}.get(rank.get("at", ""), "")
    lines = [f"by {rank['metric']} {rank['goal']}{at}"]
    head = ["", *knobs, "mean", "deviation", "n", "failed"]
    cells = [
        [
            str(row["place"]),
            *(row["values"][knob] for knob in knobs),
            units.metric(row["mean"]),
            "-" if row["deviation"] is None else units.metric(row["deviation"]),
            str(row["n"]),
            str(row["failed"] or "-"),
        ]
        for row in rows
    ]
    return [*lines, *table(head, cells)]


def _other(point: Mapping[str, Any]) -> str:
    told = f" {point['error']}" if point.get("error") else ""
    where = f" in {point['run']}" if point["run"] else ""
    return f"{point['state']}  {point['point']}{told}{where}"


def ended(work: Any, count: int) -> str:
    """A line as a point ends."""
    told = f" {work.error}" if work.error else ""
    where = f" in {work.run.name}" if work.run else ""
    return f"{work.state} {work.name}{told}{where} (of {count})"
