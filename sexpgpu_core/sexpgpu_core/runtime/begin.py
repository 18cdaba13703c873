"""A compiled job to a run folder that is ready: a new one, or the next attempt of an old one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..checkpoint.disk import Disk
from ..checkpoint.folder import Checkpoint, Checkpoints
from ..data.loader import Loader
from ..diagnostics import Diagnostic, Problem, diagnostic, problem
from . import control, documents, manifest, programs, runs, status
from .afterwards import last
from .clock import Clock
from .events import Event
from .fates import Fate
from .folder import RunFolder, create
from .job import Job
from .lock import Lock
from .machine import Machine
from .resume import Words, another, differing_numerics, fits, unknown
from .sampling import sampled
from .saving import savepoint
from .slug import clean, slug

Listener = Callable[[Event], None]


def begin(
    job: Job,
    *,
    root: Path,
    machine: Machine,
    loaders: Mapping[str, Loader],
    name: str | None = None,
    command: Sequence[str] | None = None,
    parent: Mapping[str, Any] | None = None,
    listener: Listener | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> RunFolder:
    """Make and lock a folder below `root`, write what is known, say `open`; state compiling.

    `listener` is called with every event just after its line is written. Raises E-RUN-WRITE.
    """
    clock = clock or Clock()
    earlier = runs.finished(root, job.experiment_id)
    wanted = clean(name) if name else ""
    variant, given = job.experiment.selection.get("variant"), job.experiment.given()
    slugged = slug(job.experiment.path, variant, given, job.experiment_id)
    path = create(root, wanted or slugged)
    lock = Lock(path / "run.lock", clock.stamp())
    said = sys.argv if command is None else command
    at = (clock.stamp(), said, parent)
    programs.write(job, path, partial(_manifest, job, path.name, machine, loaders, at))
    folder = _opened(path, lock, job, machine, 1, 0.0, clock, disk)
    folder.events.listener = listener
    folder.events.write("open", 0, **manifest.opening(job, machine, parent))
    for text in manifest.notes(job):
        folder.events.write("annotation", 0, text=text, by="file")
    if earlier is not None:
        hint = "--if-exists reuse gives its result; another --seed is another experiment"
        folder.events.warn(exists(earlier, machine, hint), 0)
    folder.log(f"attempt 1 of {path.name}: {' '.join(map(manifest.unasked, said))}")
    folder.status.start()
    return folder


def reopen(
    path: Path,
    job: Job,
    which: str | int = "latest",
    *,
    machine: Machine,
    loaders: Mapping[str, Loader] = {},
    command: Sequence[str] | None = None,
    changed: bool = False,
    anew: Sequence[str] = (),
    words: Words = unknown,
    listener: Listener | None = None,
    clock: Clock | None = None,
    disk: Disk | None = None,
) -> tuple[RunFolder, Checkpoint]:
    """Lock a run's folder for its next attempt and read the checkpoint to go on from.

    `which`: latest, best or a step. `changed`: another experiment may go on, in which what the
    globs `anew` name of the parameters that differ begins anew; `words` tells what differs. Raises
    E-USAGE-VALUE with no step left for it, E-RUN-LOCKED, E-CHECKPOINT-NONE, E-CHECKPOINT-CORRUPT,
    E-RESUME-CHANGED, E-RESUME-PARAM;
    W-RESUME-NUMERICS and W-RESUME-PARAM are logged.
    """
    clock = clock or Clock()
    lock = Lock(path / "run.lock", clock.stamp())
    try:
        checkpoints = Checkpoints(path / "checkpoints", disk)
        checkpoints.sweep()
        control.forget(path)
        for scratch in path.glob(".status.json-*"):  # of a process killed while it wrote
            scratch.unlink()
        best = job.experiment.run.checkpoint.best
        saved = checkpoints.choose(which, best[0] if best else None)
        checkpoint = checkpoints.load(saved)
        told = another(job, checkpoint, path, words, changed)
        fates, idle = fits(job, checkpoint, path, anew, bool(told))
        if told and saved.step + bool(fates) > job.steps:  # values that are new want a step
            raise no_step_left(job, path, saved.step)
        differing = differing_numerics(checkpoint.document, machine)
        before, live = last(path), _live(path)
        at, elapsed = before.attempt + 1, before.elapsed
        step, resumed = saved.step, _resumed(checkpoint, told, differing, fates)
        said = sys.argv if command is None else command
        begun = {"attempt": at, "step": step, **resumed}
        document = partial(_again, job, path, machine, loaders, said, begun)
        programs.write_again(job, path, at, document, bool(told))
    except BaseException:
        lock.release()
        raise
    folder = _opened(path, lock, job, machine, at, elapsed, clock, disk, live)
    folder.events.listener = listener
    folder.events.write("resume", step, device=dict(machine.device), **resumed)
    for found in [*differing, *idle]:
        folder.events.warn(found, step, once=False)
    folder.log(f"attempt {at} goes on from {saved.name}")
    folder.status.set(step=step, checkpoint=savepoint(saved))
    folder.status.start()
    return folder, checkpoint


def no_step_left(job: Job, path: Path, step: int) -> Problem:
    """E-USAGE-VALUE: what would go on from a checkpoint has no step to take."""
    told = f"{path.name}@{step} has all of the {job.steps} steps"
    return problem("E-USAGE-VALUE", told, hint=f"--steps {2 * step or 1}, or another @STEP")


def _manifest(
    job: Job,
    run: str,
    machine: Machine,
    loaders: Mapping[str, Loader],
    at: tuple[str, Sequence[str], Mapping[str, Any] | None],
    files: list[dict[str, Any]],
    modules: list[dict[str, Any]],
) -> dict[str, Any]:
    """`at`: when the run was begun, by which command, from which other."""
    return manifest.manifest(job, run, machine, loaders, files, modules, *at)


def _resumed(
    checkpoint: Checkpoint,
    told: Sequence[str],
    differing: Sequence[Diagnostic],
    fates: Sequence[Fate],
) -> dict[str, Any]:
    """How an attempt goes on, as its event and its manifest have it."""
    return {
        "checkpoint": f"checkpoints/{checkpoint.saved.name}",
        "from_attempt": int(checkpoint.document["attempt"]),
        "changed": [*told, *(d.message for d in differing)],
        **({"fates": {fate.path: fate.kind for fate in fates}} if fates else {}),
    }


def _again(
    job: Job,
    path: Path,
    machine: Machine,
    loaders: Mapping[str, Loader],
    command: Sequence[str],
    resumed: Mapping[str, Any],
    files: list[dict[str, Any]],
    modules: list[dict[str, Any]],
) -> dict[str, Any]:
    """The manifest of a later attempt; the run stays the one that it was begun as."""
    first = documents.read(path / "manifest.json", "manifest") or {}
    at = (first["created_at"], command, first.get("parent"))
    whole = _manifest(job, path.name, machine, loaders, at, files, modules)
    return {**whole, "resumed": dict(resumed)}


def exists(earlier: runs.Run, here: Machine, hint: str) -> Diagnostic:
    """W-RUN-EXISTS with its numbers, and where it was run if that was not as here (65 A10)."""
    metrics = (earlier.status or {}).get("metrics", {})
    told = ", ".join(f"{name} {_short(at['value'])}" for name, at in list(metrics.items())[:3])
    message = f"{earlier.path.name} is this experiment and has finished" + (
        f": {told}" if told else ""
    )
    was, now = _where(earlier.manifest), _where(here._asdict())
    differs = [key for key in {**was, **now} if was.get(key) != now.get(key)]
    facts: dict[str, Any] = {"run": earlier.path.name}
    if differs:
        facts["differs"] = differs
        there, this = (_said(of, differs) for of in (was, now))
        message += f". It was run with {there}; here is {this}"
    return diagnostic("W-RUN-EXISTS", message, hint=hint, **facts)


def _where(of: Mapping[str, Any]) -> dict[str, str]:
    """Device and versions, which are no part of an experiment."""
    return {"device": of["device"]["name"], **of["versions"]}


def _said(of: Mapping[str, str], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {of.get(name, 'none')}" for name in names)


def _short(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4f}"


def _opened(
    path: Path,
    lock: Lock,
    job: Job,
    machine: Machine,
    attempt: int,
    elapsed: float,
    clock: Clock,
    disk: Disk | None,
    live: Sequence[str] = (),
) -> RunFolder:
    chosen = job.experiment.run.diagnostics
    folder = RunFolder(
        path,
        lock,
        machine,
        attempt,
        elapsed,
        clock,
        disk,
        steps=job.steps,
        device=dict(machine.device),
        experiment_id=job.experiment_id,
        diagnostics=sampled(chosen.every, chosen.select, live),
    )
    folder.live = tuple(live)
    return folder


def _live(path: Path) -> list[str]:
    """The globs that were asked for while an attempt before this one ran."""
    try:
        said = status.read(path / "status.json") or {}
    except Problem:  # of no other use here, and written anew at once
        return []
    return list(said.get("diagnostics", {}).get("live", ()))
