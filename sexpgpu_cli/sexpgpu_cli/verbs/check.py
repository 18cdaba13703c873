"""`check FILE...`: all that can be known without training."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import click

from sexpgpu_core.diagnostics import Diagnostic, Problem

from .. import files, units
from ..answer import Answer, cut, document
from ..flags import verb
from ..invocation import Invocation, selection_flags

PRINTED = 2048
"""Characters of what a file prints that are shown."""


@verb("check", select=True)
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@click.option("--device", metavar="NAME", help="Check for a device by what its row says.")
@click.option("--stdin-name", metavar="PATH", help="What - is called in diagnostics.")
def check(
    invocation: Invocation,
    names: tuple[str, ...],
    selection: dict[str, Any],
    device: str | None,
    stdin_name: str | None,
) -> Answer:
    """Check files: every diagnostic, then a summary. Exit 1 if a file has an error."""
    start = time.perf_counter()
    with uncollected():
        checked = [_check(invocation, name, selection, device, stdin_name) for name in names]
    code = max(found["exit"] for found in checked)
    listed = [d for found in checked for d in found["diagnostics"]]
    told = document(
        "check",
        exit=code,
        elapsed=round(time.perf_counter() - start, 4),
        counts={
            "error": sum(d.is_error for d in listed),
            "warning": sum(not d.is_error for d in listed),
            "fixable": sum(d.edit is not None for d in listed),
        },
        files=[_file(found, invocation.limit) for found in checked],
    )
    left = sum(max(0, len(f["diagnostics"]) - invocation.limit) for f in checked)
    again = ""
    if left and invocation.limit:
        again = f"sexpgpu check {' '.join(names)}{selection_flags(selection)} --limit 0"
        told.update(omitted={"diagnostics": left}, more=again)
    return Answer(told, _text(invocation, checked, again), code)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the cyclic collector: a check lives for a moment, and it would take a tenth of it."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _check(
    invocation: Invocation,
    name: str,
    selection: dict[str, Any],
    device: str | None,
    stdin_name: str | None,
) -> dict[str, Any]:
    """One file's report with what the document adds to it."""
    try:
        source = files.read(name, stdin_name)
    except Problem as error:
        if error.diagnostic.phase == "usage":
            raise
        return _unread(name, error.diagnostic)
    from sexpgpu_core import api

    report = api.check(source, device=device, **selection)
    if report.output:
        invocation.say(_head(report.output.rstrip("\n")))
    listed = invocation.judged(report.diagnostics)
    failed = invocation.denied(listed) or not report.complete
    return {
        "file": name,
        "sha256": sha256(source.text.encode()).hexdigest(),
        "exit": int(failed),
        "diagnostics": listed,
        "complete": report.complete,
        "reached": report.reached,
        "summary": report.summary,
        "selection": report.selection,
        "output": report.output[:PRINTED],
    }


def _head(printed: str) -> str:
    """What a file printed, at most PRINTED characters of it."""
    left = len(printed) - PRINTED
    return printed if left <= 0 else f"{printed[:PRINTED]}\n... {left:,} more characters"


def _unread(name: str, d: Diagnostic) -> dict[str, Any]:
    empty = {"complete": False, "reached": "reader", "summary": None, "selection": None}
    digest = sha256(b"").hexdigest()
    return {"file": name, "sha256": digest, "exit": 1, "diagnostics": [d], "output": "", **empty}


def _file(found: dict[str, Any], limit: int) -> dict[str, Any]:
    shown, _ = cut(found["diagnostics"], limit)
    told = {k: v for k, v in found.items() if k not in ("exit", "output", "diagnostics")}
    told.update(ok=not found["exit"], diagnostics=_listed(shown))
    return {**told, "output": found["output"]} if found["output"] else told


def _listed(shown: list[Diagnostic]) -> list[dict[str, Any]]:
    if not shown:
        return []
    from sexpgpu_core.diagnostics.render_json import diagnostic_json

    return [diagnostic_json(d) for d in shown]


def _text(invocation: Invocation, checked: list[dict[str, Any]], again: str) -> str:
    from sexpgpu_core.diagnostics.render_text import counts, render_all

    color = invocation.colored(sys.stdout)
    parts: list[str] = []
    for found in checked:
        listed = found["diagnostics"]
        if listed:
            parts.append(render_all(listed, color=color, limit=invocation.limit, more=again))
        said = counts(listed) or "no errors"
        stopped = "" if found["complete"] else f"; stopped after {found['reached']}: check again"
        parts.append(f"{found['file']}: {said}{stopped}")
        if found["summary"] is not None:
            parts.append("\n".join(f"  {k:<11} {v}" for k, v in summary_lines(found["summary"])))
    return "\n\n".join(parts)


def summary_lines(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """At most twelve lines of what a file is."""
    parameters, memory = summary["parameters"], summary["memory"]
    tensors = f"{parameters['count']:,} in {parameters['tensors']} tensors"
    frozen = parameters["count"] - parameters["trainable"]
    lines = [
        ("experiment", summary["experiment_id"]),
        ("knobs", str(summary["knobs"])),
        ("parameters", tensors + (f", {frozen:,} frozen" if frozen else "")),
        ("steps", f"{summary['steps']:,}{_course(summary)}"),
        ("a step", f"{units.count(summary['flops_per_step'])}FLOP{_policy(summary)}"),
        ("memory", _memory(memory)),
    ]
    for name, of in list(summary.get("batch", {}).items())[:2]:
        lines.append(("batch", f"{name} {of['dtype']} ({' '.join(map(str, of['shape']))})"))
    for group in summary.get("groups", ())[:2]:
        what = f"{group['count']:,} parameters by {group['optimizer']}"
        lines.append(("group", f"{group['name']}: {what}"))
    lines += [("proved", claim) for claim in summary.get("proved", ())[:1]]
    passes = " ".join(summary.get("evaluation_ids", {}))
    if passes:
        lines.append(("passes", passes))
    if "diagnostics" in summary:
        said = summary["diagnostics"]
        what = f"{said['numbers']:,} numbers every {said['every']:,} steps"
        lines.append(("sampled", f"{what}, {100 * said['share']:.2g} % more work"))
    for run in summary.get("exists", ())[:1]:
        lines.append(("exists", f"{run['run']} ({run['state']})"))
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


def _memory(memory: dict[str, Any]) -> str:
    parts = ("parameters", "optimizer", "activations", "workspace")
    known = [f"{p} {units.size(memory[p + '_bytes'])}" for p in parts if p + "_bytes" in memory]
    return units.size(memory["peak_bytes"]) + (f" ({', '.join(known)})" if known else "")
