"""A sweep to text: its ranked table, and what became of each point that is not in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import units
from .table import table


def text(sweep: Mapping[str, Any], folder: Path) -> str:
    """The table, then points that failed or are left, then the folder."""
    counts = ", ".join(f"{n} {state}" for state, n in sweep["counts"].items())
    lines = [f"{sweep['name']}: {sweep['state']}, {counts} of {len(sweep['points'])} points"]
    if sweep["table"]:
        lines += _table(sweep)
    if left := sweep.get("omitted", {}).get("table"):
        lines.append(f"{left} rows were judged otherwise and are not ranked against these")
    lines += [_other(p) for p in sweep["points"] if p["state"] not in ("finished", "pending")][:8]
    return "\n".join([*lines, f"folder  {folder}"])


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
