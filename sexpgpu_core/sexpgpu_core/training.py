"""A loaded file and a device to a finished run: compile, open, begin or reopen, loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .diagnostics import Problem, Problems, problem
from .runtime import begin as beginning
from .runtime import runs
from .runtime.machine import Machine, machine
from .runtime.run import Summary, failed, interrupted
from .runtime.run import run as run_loop
from .runtime.signals import Signals

if TYPE_CHECKING:
    from .checkpoint.folder import Checkpoint
    from .compile import Compiled
    from .device import Device
    from .runtime.folder import RunFolder


def train(
    loaded: Any,
    device: Device,
    compile: Callable[[Any, Device], Compiled],
    *,
    threads: int | None,
    name: str | None,
    resume: str | None,
    root: Path,
    progress: Any,
) -> Summary:
    """Compile, then run. Signals are taken from here on, also while it compiles."""
    facts = device.probe()
    if not facts.present:
        raise problem("E-DEVICE-ABSENT", f"{device.name}: {facts.why}")
    listener = progress.event if progress is not None else None
    with Signals() as signals:
        start = time.perf_counter()
        compiled = compile(loaded, device)
        if progress is not None:
            progress.warnings(list(loaded.evaluator.diagnostics))
        here = machine(device, facts, kind=device.name, threads=threads)
        folder, checkpoint = _folder(loaded, compiled, here, root, name, resume, listener)
        if signals.reason is not None:
            return interrupted(folder, signals)
        try:
            session = device.open(
                compiled.job.units, compiled.job.persistent, threads=threads or 0
            )
        except (Problem, Problems) as error:
            found = error.diagnostic if isinstance(error, Problem) else error.diagnostics[0]
            return failed(folder, found)
        _told(folder, compiled, session, time.perf_counter() - start)
        try:
            return run_loop(
                compiled.job,
                session,
                folder,
                loaders=loaded.loaders,
                resume=checkpoint,
                signals=signals,
            )
        finally:
            session.close()


def _folder(
    loaded: Any,
    compiled: Compiled,
    here: Machine,
    root: Path,
    name: str | None,
    resume: str | None,
    listener: Any,
) -> tuple[RunFolder, Checkpoint | None]:
    """A new run's folder, or the folder of the run that goes on."""
    job = compiled.job
    if resume is not None:
        found = runs.resumable(root, job.experiment_id, name)
        if found is not None:
            which: str | int = int(resume) if resume.isdigit() else resume
            return beginning.reopen(
                found.path, job, "latest" if which == "auto" else which, machine=here,
                listener=listener,
            )  # fmt: skip
        if resume != "auto":
            raise problem(
                "E-CHECKPOINT-NONE", f"no run of this experiment is below {root.as_posix()}"
            )
    folder = beginning.begin(
        job, root=root, machine=here, loaders=loaded.loaders, name=name, listener=listener
    )
    return folder, None


def _told(folder: RunFolder, compiled: Compiled, session: Any, seconds: float) -> None:
    """A `compile` event a program: kernels, how many came from the cache, seconds."""
    made = getattr(session, "kernels", None) or {}
    for unit in compiled.job.units:
        folder.events.write(
            "compile",
            0,
            graph=unit.name,
            duration_s=round(seconds / len(compiled.job.units), 6),
            **made.get(unit.name, {}),
        )
