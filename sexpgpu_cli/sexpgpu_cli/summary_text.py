"""What `check` says of a file that compiles, as lines; what of it is of this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from sexpgpu_core.compile.forecast import ERROR

from . import units

if TYPE_CHECKING:
    from .invocation import Invocation

LOOKED_AT = 100
"""Of the newest runs, for one of this experiment."""


def here(invocation: Invocation, experiment: str) -> dict[str, Any]:
    """Keys of the summary that are no property of the file: free disk, runs of this experiment."""
    root = invocation.settings.runs
    there = next(p for p in (root, *root.absolute().parents) if p.exists())
    disk = os.statvfs(there)
    found: dict[str, Any] = {"disk_free_bytes": disk.f_bavail * disk.f_frsize}
    if there == root and (runs := _same(invocation, experiment)):
        found["exists"] = runs
    return found


def _same(invocation: Invocation, experiment: str) -> list[dict[str, Any]]:
    from sexpgpu_core.diagnostics import Problem
    from sexpgpu_core.runtime import runs

    found = []
    folders = sorted(runs.folders(invocation.settings.runs), key=_changed, reverse=True)
    for path in folders[:LOOKED_AT]:
        try:
            run = runs.read(path)
        except Problem:  # `runs` tells of it
            continue
        if run is not None and run.manifest["experiment_id"] == experiment:
            metrics = (run.status or {}).get("metrics", {})
            last = {name: at["value"] for name, at in metrics.items()}
            found.append({"run": path.name, "state": run.state, "metrics": last})
    return sorted(found, key=lambda told: told["state"] != "finished")


def _changed(path: Any) -> float:
    try:
        return float(path.stat().st_mtime)
    except OSError:
        return 0.0


def text(summary: dict[str, Any]) -> str:
    return "\n".join(f"  {key:<11} {value}" for key, value in summary_lines(summary))


def summary_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """At most twelve lines of what a file is."""
    parameters, memory = summary["parameters"], summary["memory"]
    tensors = f"{parameters['count']:,} in {parameters['tensors']} tensors"
    frozen = parameters["count"] - parameters["trainable"]
    lines = [
        ("experiment", f"{summary['experiment_id']}, {summary['knobs']} knobs"),
        ("parameters", tensors + (f", {frozen:,} frozen" if frozen else "")),
        ("steps", f"{summary['steps']:,}{_course(summary)}"),
        ("a step", f"{units.count(summary['flops_per_step'])}FLOP{_policy(summary)}"),
        ("time", _time(summary)),
        ("memory", _memory(memory)),
        *_disk(summary),
    ]
    fields = [
        f"{name} {of['dtype']} ({' '.join(map(str, of['shape']))})"
        for name, of in summary.get("batch", {}).items()
    ]
    if fields:
        lines.append(("batch", ", ".join(fields[:2]) + (", ..." if len(fields) > 2 else "")))
    groups = [
        f"{group['name']}: {group['count']:,} parameters by {group['optimizer']}"
        for group in summary.get("groups", ())
    ]
    if groups:
        lines.append(("groups", "; ".join(groups[:2]) + ("; ..." if len(groups) > 2 else "")))
    passes = " ".join(summary.get("evaluation_ids", {}))
    if passes:
        lines.append(("passes", passes))
    if "diagnostics" in summary:
        said = summary["diagnostics"]
        what = f"{said['numbers']:,} numbers every {said['every']:,} steps"
        lines.append(("sampled", f"{what}, {100 * said['share']:.2g} % more work"))
    for run in summary.get("exists", ())[:1]:
        lines.append(("exists", f"{run['run']} ({run['state']})"))
    lines += [("proved", claim) for claim in summary.get("proved", ())[:1]]
    return lines[:12]


def _course(summary: dict[str, Any]) -> str:
    """Which stages of a curriculum follow each other, as far as that is known."""
    stages = summary.get("stages")
    if stages is None:
        return ""
    told = [f":{s['stage'].partition(':')[2]} from {s['first']:,}" for s in stages[:4]]
    more = [f"{len(stages) - 4} more"] if len(stages) > 4 else []
    known = all(s["steps"] is not None for s in stages) and bool(stages)
    return f" ({', '.join(told + more)})" if known else " at most (curriculum reads a metric)"


def _policy(summary: dict[str, Any]) -> str:
    """The precision, where it is not f32 everywhere."""
    said = summary.get("precision", {"default": "f32", "scopes": {}})
    apart = ", ".join(f"{scope}: {policy}" for scope, policy in list(said["scopes"].items())[:2])
    if said["default"] == "f32" and not apart:
        return ""
    return f", {said['default']}" + (f" ({apart})" if apart else "")


def _time(summary: dict[str, Any]) -> str:
    """What it will take on this machine, where its speed is known."""
    found = summary.get("predicted")
    if found is None:
        return "not known: sexpgpu devices measures this machine"
    each, every = units.duration(found["step_s"]), units.duration(found["total_s"])
    return f"about {each} a step, {every} in all, to a factor of {ERROR:g}"


def _disk(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """What checkpoints take at once, against what is free."""
    if "disk_bytes" not in summary:
        return []
    needed, free = summary["disk_bytes"], summary.get("disk_free_bytes")
    told = f"{units.size(needed)} of checkpoints"
    if free is None:
        return [("disk", told)]
    fits = "" if needed <= free else ": they do not fit (E-DEVICE-DISK)"
    return [("disk", f"{told}, {units.size(free)} free{fits}")]


def _memory(memory: dict[str, Any]) -> str:
    parts = ("parameters", "optimizer", "activations", "workspace")
    known = [f"{p} {units.size(memory[p + '_bytes'])}" for p in parts if p + "_bytes" in memory]
    if "stacked_bytes" in memory:
        known[-1] += f" of which scans stack {units.size(memory['stacked_bytes'])}"
    staging = memory.get("staging_bytes")
    more = f", {units.size(staging)} more while it saves" if staging else ""
    return units.size(memory["peak_bytes"]) + (f" ({', '.join(known)})" if known else "") + more
