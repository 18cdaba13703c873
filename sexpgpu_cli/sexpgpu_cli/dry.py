"""`run --dry-run`: what was predicted beside what one step took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import units
from .table import table


def compared(summary: Mapping[str, Any], status: Mapping[str, Any]) -> str:
    """`check`'s summary and the status of a run of one step, in about seven lines."""
    step_s = (status.get("summary") or {}).get("step_s")
    told = status["predicted"]
    flops, steps = summary["flops_per_step"], summary["steps"]
    peak = (status.get("summary") or {}).get("peak_memory_bytes", 0)
    rate = f"{units.count(flops / step_s)}FLOP/s" if step_s else "-"
    rows = [
        ["parameters", units.count(summary["parameters"]["count"]), "-"],
        ["memory", units.size(summary["memory"]["peak_bytes"]), f"{units.size(peak)} of process"],
        ["disk", units.size(summary["disk_bytes"]), "-"],
        ["FLOPs a step", units.count(flops), rate],
        ["until then", "-", units.duration(max(0.0, status["elapsed"] - (step_s or 0.0)))],
        ["a step", units.duration(told["step_s"]), f"{units.duration(step_s)}, the first"],
        [f"{steps:,} steps", f"about {units.duration(told['total_s'])} with passes", "-"],
    ]
    head = f"{status['run']}: nothing was kept of one step"
    lines = [head, *table(["", "predicted", "measured"], rows), told["basis"]]
    return "\n".join(lines)
