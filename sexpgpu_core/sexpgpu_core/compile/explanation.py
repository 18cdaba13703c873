"""What a compile did, as data: passes, patterns that were found or why not, what is interpreted."""

from __future__ import annotations

from typing import Any

from ..device import Device
from ..diagnostics.render_json import place
from ..ir import Operations
from ..passes.patterns import Finding
from .forecast import Speed, forecast
from .pipeline import Compiled
from .sections import SECTIONS, subject


def explained(
    compiled: Compiled, device: Device, operations: Operations, speed: Speed | None = None
) -> dict[str, Any]:
    """Keys of schemas/explain.json. `speed`: of the device here, for what is predicted; without it
    no seconds are said."""
    told = compiled.told
    of = subject(compiled, operations, speed)
    found: dict[str, Any] = {"device": {"name": device.name, "kind": device.level}}
    if speed is not None:
        found["device"]["threads"] = speed.threads
        found["predicted"] = forecast(compiled, operations, speed)
    found.update((name, rows(of)) for name, rows in SECTIONS.items())
    found["passes"] = [
        {
            "program": program,
            "name": report.name,
            "before": report.before,
            "after": report.after,
            "duration_s": round(report.duration, 6),
        }
        for program, reports in told.passes.items()
        for report in reports
    ]
    patterns = [
        {"program": program, **row}
        for program, listed in told.patterns.items()
        for row in _grouped(listed)
    ]
    sections = [*SECTIONS, "passes"]
    return {
        **found,
        "patterns": patterns,
        "interpreted": _interpreted(compiled),
        "sections": sections,
    }


def _grouped(findings: list[Finding]) -> list[dict[str, Any]]:
    """Those of one place and one outcome together."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for f in findings:
        span = f.origin.span if f.origin is not None else None
        key = f.name, f.reason, span
        if key in rows:
            rows[key]["count"] += 1
            continue
        row: dict[str, Any] = {"name": f.name, "found": f.reason is None, "count": 1}
        if f.reason is not None:
            row["reason"] = f.reason
        if f.origin is not None and f.origin.scope:
            row["scope"] = f.origin.scope
        if span is not None:
            row["file"], row["span"] = place(span)
        rows[key] = row
    return list(rows.values())


def _interpreted(compiled: Compiled) -> list[str]:
    """Operations that no compiled code does: those of a device that takes graphs as they are."""
    graphs = [u.graph for u in compiled.job.units if u.plan is None]
    return sorted({n.operation for graph in graphs for n in graph.nodes if n.operands})
