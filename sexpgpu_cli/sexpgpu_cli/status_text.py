"""A run's status to text and to the document: a final one, or one that goes on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sexpgpu_core.diagnostics.places import shown_path

from . import units
from .answer import document
from .lines import metrics, told

if TYPE_CHECKING:
    from sexpgpu_core.runtime.runs import Run

ENDED = ("stopped", "preempted", "failed", "lost")
STEADY = ("state", "step", "metrics", "best", "targets", "checkpoint", "error", "exit", "attempt")
"""Keys whose change is news; times always change."""


def status_json(run: Run, **more: Any) -> dict[str, Any]:
    """The document `status` as the verb says it: with the run's path and whether it lives."""
    if run.status is None:
        return {**_unwritten(run), **more}
    from sexpgpu_core.runtime.status import FINAL

    alive = None if run.status["state"] in FINAL else run.live
    return {**run.status, "path": shown_path(str(run.path)), "alive": alive, **more}


def _unwritten(run: Run) -> dict[str, Any]:
    """A run that has made its folder and not yet its status.json."""
    from sexpgpu_core.runtime.lock import holder

    told, at = holder(run.path / "run.lock") or {}, run.manifest["created_at"]
    nothing: dict[str, Any] = {"metrics": {}, "best": {}, "targets": []}
    return document(
        "status",
        run=run.path.name,
        path=shown_path(str(run.path)),
        attempt=1,
        state="compiling",
        alive=run.live,
        step=0,
        steps=run.manifest["steps"],
        progress=0.0,
        elapsed=0.0,
        eta=None,
        heartbeat=at,
        pid=int(told.get("pid", 0)),
        host=str(told.get("host", "")),
        checkpoint=None,
        error=None,
        exit=None,
        summary=None,
        **nothing,
    )


def steady(told: Mapping[str, Any]) -> dict[str, Any]:
    """What of a status is news when it changes."""
    return {key: told.get(key) for key in (*STEADY, "alive", "phase", "phase_done", "until")}


def text(status: Mapping[str, Any], folder: str, again: str, gone: bool = False) -> str:
    """A status in about ten lines. `again`: the command that goes on. `gone`: the folder is, and
    what was saved in it."""
    state = "lost" if status.get("alive") is False else status["state"]
    lines = [f"{status['run']}: {state} {_position(status)}{_took(status)}"]
    rows = _numbers(status)
    if status.get("until"):
        met = "holds" if status["until"]["met"] else "does not hold"
        rows.append(("until", f"{status['until']['condition']}: {met}"))
    saved = None if gone else status.get("checkpoint")
    if saved:
        rows.append(("checkpoint", f"step {saved['step']:,}"))
    if status.get("error"):
        rows.append((status["error"]["code"], status["error"]["message"]))
    if state == "lost":
        rows.append(("E-RUN-LOST", f"process {status['pid']} on {status['host']} is gone"))
    rows.append(("folder", f"{folder} is gone" if gone else folder))
    if state in ENDED and saved:
        rows.append(("go on with", again))
    width = max(len(name) for name, _ in rows)
    return "\n".join([*lines, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def _position(status: Mapping[str, Any]) -> str:
    if status.get("phase_total"):
        return f"{status['phase_done']:,} of {status['phase_total']:,} {status['phase']}"
    steps = status.get("steps")
    return f"at step {status['step']:,}" + (f" of {steps:,}" if steps else "")


def _took(status: Mapping[str, Any]) -> str:
    left = f", {units.duration(status['eta'])} left" if status.get("eta") else ""
    return f" after {units.duration(status['elapsed'])}{left}"


def _numbers(status: Mapping[str, Any]) -> list[tuple[str, str]]:
    last = told({name: at["value"] for name, at in status["metrics"].items()})
    rows = [(name, _at(status["metrics"][name])) for name in list(last)[:4]]
    rows += [(f"best {name}", _at(at)) for name, at in list(status["best"].items())[:2]]
    for target in status["targets"][:2]:
        met = "met" if target["met"] else "not met"
        rows.append(("target", f"{target['metric']} {target['goal']} {target['threshold']}: {met}"))
    if reads := (status.get("summary") or {}).get("test_reads"):
        rows.append((":test stages", f"read {reads} times" if reads > 1 else "read once"))
    return rows


def _at(at: Mapping[str, Any]) -> str:
    return f"{units.metric(at['value'])} at step {at['step']:,}"


def line(status: Mapping[str, Any]) -> str:
    """A status in one line, for those who follow it."""
    state = "lost" if status.get("alive") is False else status["state"]
    last = metrics({name: at["value"] for name, at in status["metrics"].items()})
    return f"{state} {_position(status)}{_took(status)}" + (f"  {last}" if last else "")


def again(run: Run) -> str:
    """The command that goes on with a run, from what its manifest says."""
    manifest = run.manifest
    words = ["sexpgpu", "run", manifest["file"]]
    chosen = manifest["selection"]
    for key in ("variant", "point"):
        if chosen.get(key):
            words += [f"--{key}", chosen[key]]
    for name, value in chosen.get("set", {}).items():
        words += ["-s", f"{name}={value}"]
    for flag in ("steps", "seed"):
        if any(word.split("=")[0] == f"--{flag}" for word in manifest.get("command", ())):
            words += [f"--{flag}", str(manifest[flag])]
    return shlex.join([*words, "--resume", run.path.name])
