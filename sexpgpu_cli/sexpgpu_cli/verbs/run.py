"""`run FILE`: train; progress on stderr, the final status on stdout."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from sexpgpu_core.diagnostics import Diagnostic
from sexpgpu_core.diagnostics.render_text import render_all

from .. import curve, units
from ..answer import Answer
from ..flags import verb
from ..invocation import Invocation, selection_flags
from ..lines import told


@verb("run", select=True)
@click.argument("file", metavar="FILE")
@click.option("--device", metavar="NAME", help="cpu, reference, or a plug-in's; default cpu.")
@click.option("--threads", type=click.IntRange(1), help="Threads of the device.")
@click.option("--name", metavar="SLUG", help="The run's folder, instead of a name made from it.")
@click.option("--resume", metavar="auto|STEP|latest", help="Go on from a checkpoint.")
@click.option("--curve/--no-curve", default=True, help="Draw the loss at the end, on stderr.")
def run(
    invocation: Invocation,
    file: str,
    selection: dict[str, Any],
    device: str | None,
    threads: int | None,
    name: str | None,
    resume: str | None,
    curve: bool,
) -> Answer:
    """Train FILE. Exit 3 if the run fails, 75 if it was preempted and can be resumed."""
    from sexpgpu_core import api

    with progress(invocation) as show:
        result = api.run(
            file,
            **selection,
            device=device or invocation.settings.device or "cpu",
            threads=threads or invocation.settings.threads,
            name=name,
            resume=resume,
            runs_root=invocation.settings.runs,
            progress=show,
        )
    if result.error is not None and not invocation.json:
        sys.stderr.write(render_all([result.error], color=invocation.colored(sys.stderr)) + "\n")
    elif curve:
        draw(invocation, Path(result.folder))
    named = f" --name {result.status['run']}" if name else ""
    where = f" --device {device}" if device else ""
    again = f"sexpgpu run {file}{selection_flags(selection)}{where}{named} --resume latest"
    status = dict(result.status)
    return Answer(status, text(status, str(result.folder), again), result.exit)


def progress(invocation: Invocation) -> Any:
    """What is shown while it runs: nothing, one live panel, or a line at each log."""
    from ..lines import Lines, Silent

    if invocation.quiet:
        return Silent()
    warn = Warnings(invocation)
    if sys.stderr.isatty() and not invocation.json:
        from ..panel import Panel

        return Panel(warn, invocation.colored(sys.stderr))
    return Lines(invocation.say, warn)


class Warnings:
    """Shows warnings of the compiler, which come as diagnostics and not as events."""

    def __init__(self, invocation: Invocation) -> None:
        self.invocation = invocation

    def __call__(self, diagnostics: list[Diagnostic]) -> str:
        listed = self.invocation.judged(diagnostics)
        return render_all(listed, color=self.invocation.colored(sys.stderr), limit=5)


def draw(invocation: Invocation, folder: Path) -> None:
    """The curve of the first loss series, if there is one."""
    series = curve.read_series(folder / "events.jsonl")
    chosen = curve.losses(series)
    if chosen and not invocation.quiet and not invocation.json:
        invocation.say(curve.plot(chosen))


def text(status: dict[str, Any], folder: str, again: str) -> str:
    """A final status in about ten lines."""
    steps = status.get("steps")
    lines = [
        f"{status['run']}: {status['state']} at step {status['step']:,}"
        + (f" of {steps:,}" if steps else "")
        + f" after {units.duration(status['elapsed'])}"
    ]
    last = told({name: at["value"] for name, at in status["metrics"].items()})
    rows = [(name, _at(status["metrics"][name])) for name in list(last)[:4]]
    rows += [(f"best {name}", _at(at)) for name, at in list(status["best"].items())[:2]]
    for target in status["targets"][:2]:
        met = "met" if target["met"] else "not met"
        rows.append(("target", f"{target['metric']} {target['goal']} {target['threshold']}: {met}"))
    saved = status.get("checkpoint")
    if saved:
        rows.append(("checkpoint", f"step {saved['step']:,}"))
    if status.get("error"):
        rows.append((status["error"]["code"], status["error"]["message"]))
    rows.append(("folder", folder))
    if status["state"] in ("stopped", "preempted", "failed") and saved:
        rows.append(("go on with", again))
    width = max(len(name) for name, _ in rows)
    return "\n".join([*lines, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def _at(at: dict[str, Any]) -> str:
    return f"{units.metric(at['value'])} at step {at['step']:,}"
