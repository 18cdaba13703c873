"""What a compile did, as data: passes, patterns that were found or why not, what is interpreted."""

from __future__ import annotations

from typing import Any

from ..device import Device
from ..diagnostics.render_json import place
from ..passes.patterns import Finding
from .pipeline import Compiled


def explained(compiled: Compiled, device: Device) -> dict[str, Any]:
    """Keys of schemas/explain.json. A pattern in many layers is one entry with its count."""
    told = compiled.told
    return {
        "device": {"name": device.name, "kind": device.level},
        "sections": ["passes"],
        "passes": [
            {
                "program": program,
                "name": report.name,
                "before": report.before,
                "after": report.after,
                "duration_s": round(report.duration, 6),
            }
            for program, reports in told.passes.items()
            for report in reports
        ],
        "patterns": [
            {"program": program, **row}
            for program, found in told.patterns.items()
            for row in _grouped(found)
        ],
        "interpreted": _interpreted(compiled),
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
