"""`run FILE`: train; progress on stderr, the final status on stdout."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from sexpgpu_core.diagnostics import Diagnostic, problem
from sexpgpu_core.diagnostics.render_text import render_all

from .. import curve, files, names
from ..answer import Answer
from ..flags import Real, verb
from ..invocation import Invocation, selection_flags
from ..status_text import text

EXISTING = ("run", "reuse", "fail")
FLAGS = {"origin": "from", "sinks": "sink"}
"""Flags that are called otherwise here."""


@verb("run", select=True)
@click.argument("file", metavar="FILE")
@click.option("--device", metavar="NAME", help="cpu, reference, or a plug-in's; default cpu.")
@click.option("--threads", type=click.IntRange(1), help="Threads of the device.")
@click.option("--name", metavar="SLUG", help="The run's folder, instead of a name made from it.")
@click.option(
    "--resume", metavar="auto|STEP|latest|best|RUN[@STEP]", type=names.SAVE, help="Go on from it."
)
@click.option("--resume-changed", is_flag=True, help="Although it is another experiment now.")
@click.option(
    "--resume-params",
    multiple=True,
    metavar="GLOB",
    help="What differs of these parameters begins anew: head/**.",
)
@click.option(
    "--from", "origin", metavar="RUN[@STEP]", type=names.SAVE, help="A new run that begins there."
)
@click.option("--if-exists", type=click.Choice(EXISTING), default="run", help="The same was run.")
@click.option("--store", metavar="URL", help="Mirror it there: a folder, or s3://BUCKET/PREFIX.")
@click.option(
    "--sink",
    "sinks",
    multiple=True,
    metavar="NAME[:K=V,...]",
    help="Events to it as well: csv:path=FILE, jsonl:path=FILE, tensorboard:path=DIR.",
)
@click.option("--ranks", type=click.IntRange(1), default=1, help="Processes of one run; 1.")
@click.option("--dry-run", is_flag=True, help="Compile, take one step, keep nothing.")
@click.option("--detach", is_flag=True, help="Go on alone; return after the first step.")
@click.option("--deadline", type=Real(0, min_open=True), metavar="S", help="Seconds.")
@click.option(
    "--diagnostics", multiple=True, metavar="GLOB", help="Sample these numbers too: grad/norm/**."
)
@click.option("--curve/--no-curve", default=True, help="Draw the loss at the end, on stderr.")
@click.option("--announce", type=int, hidden=True)
@click.option("--text", "kept", type=Path, hidden=True)
def run(
    invocation: Invocation,
    file: str,
    selection: dict[str, Any],
    device: str | None,
    threads: int | None,
    curve: bool,
    dry_run: bool,
    detach: bool,
    announce: int | None,
    kept: Path | None,
    ranks: int,
    sinks: tuple[str, ...],
    **asked: Any,
) -> Answer:
    """Train FILE. Exit 3 if the run fails, 75 if it was preempted and can be resumed."""
    _exclude(dry_run=dry_run, detach=detach, sinks=sinks, **asked)
    if ranks > 1:
        told = f"--ranks {ranks}: a run is one process in this version"
        raise problem("E-DEVICE-ABSENT", told, hint="--ranks 1")
    if detach:
        from ..detach import detached

        return detached(invocation)
    from sexpgpu_core import api

    read, modules = (file, {}) if kept is None else files.kept(file, kept)
    with progress(invocation, announce) as show:
        result = api.run(
            read,
            **selection,
            kept=modules,
            device=device or invocation.settings.device,
            threads=threads or invocation.settings.threads,
            **asked,
            dry=dry_run,
            sinks=(*invocation.settings.sinks, *sinks),
            runs_root=invocation.settings.runs,
            progress=show,
        )
    if result.error is not None and not invocation.json:
        sys.stderr.write(render_all([result.error], color=invocation.colored(sys.stderr)) + "\n")
    elif curve and not dry_run:
        draw(invocation, Path(result.folder))
    status = dict(result.status)
    if dry_run and result.error is None:
        return _dry(file, selection, status)
    words = ["run", file, *shlex.split(selection_flags(selection))]
    words += ["--device", device] if device else []
    words += ["--name", status["run"]] if asked["name"] else []
    again = shlex.join(["sexpgpu", *invocation.near(*words, "--resume", "latest")])
    gone = not (asked["store"] or Path(result.folder).is_dir())
    return Answer(status, text(status, str(result.folder), again, gone), result.exit)


def _exclude(**given: Any) -> None:
    """Flags that exclude each other. Raises E-USAGE-VALUE."""
    said = [key for key in ("resume", "origin", "dry_run") if given[key]]
    if given["dry_run"]:  # it keeps nothing, so there is nothing to mirror, to find or to wait for
        said += [key for key in ("detach", "store", "sinks") if given[key]]
        said += ["if_exists"] * (given["if_exists"] != "run")
    for flag in ("resume_changed", "resume_params"):
        if given[flag] and not given["resume"]:
            word = f"--{flag.replace('_', '-')}"
            raise problem("E-USAGE-VALUE", f"{word} is for --resume", hint=f"--resume RUN {word}")
    if len(said) > 1:
        words = [f"--{FLAGS.get(key, key.replace('_', '-'))}" for key in said]
        hint = f"leave out {words[0]} or {words[1]}"
        raise problem("E-USAGE-VALUE", f"{' and '.join(words[:2])} exclude each other", hint=hint)


def _dry(file: str, selection: dict[str, Any], status: dict[str, Any]) -> Answer:
    from sexpgpu_core import api

    from ..dry import compared

    report = api.check(file, **selection)
    assert report.summary is not None, "it ran, so it checks"
    return Answer(status, compared(report.summary, status))


def progress(invocation: Invocation, announce: int | None = None) -> Any:
    """What is shown while it runs: nothing, one live panel, or a line at each log."""
    from sexpgpu_core.data.files import REACH

    from ..lines import Lines, Silent

    REACH.tell = invocation.say
    warn = Warnings(invocation)
    if announce is not None:
        from ..detach import Announced

        return Announced(announce, invocation.say, warn)
    if invocation.quiet:
        return Silent()
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
