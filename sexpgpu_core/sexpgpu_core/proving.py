"""Resumes of a run proved by its own file, compiled again."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .diagnostics import problem
from .training import machine_of, opened

if TYPE_CHECKING:
    from .checkpoint.folder import Saved
    from .compile.pipeline import Compiled
    from .device import Device
    from .diagnostics import Diagnostic
    from .runtime import runs
    from .runtime.verification import Verified
    from .training import Compiler


def verify(
    run: runs.Run,
    loaded: Any,
    device: Device,
    compile: Compiler,
    *,
    threads: int | None,
    steps: int | None,
) -> Verified:
    """Prove that resumes of a run are exact; `loaded` is its own file. See runtime.verification."""
    from .runtime.verification import begins
    from .runtime.verification import verify as proved

    compiled = _same(run, loaded, device, compile)
    with tempfile.TemporaryDirectory(prefix="sexpgpu-") as scratch:
        return proved(
            run.path,
            compiled.job,
            lambda: opened(device, compiled, threads, run.path),
            loaders=loaded.loaders,
            machine=machine_of(device, threads),
            scratch=Path(scratch),
            steps=steps,
            origin=begins(run),
        )


def prove(
    run: runs.Run, loaded: Any, device: Device, compile: Compiler, first: Saved, until: int
) -> list[Diagnostic]:
    """What is not the same when a live run is replayed from one checkpoint, by one thread."""
    from .runtime.verification import prove as proved

    compiled = _same(run, loaded, device, compile)
    with tempfile.TemporaryDirectory(prefix="sexpgpu-") as scratch:
        return proved(
            run.path,
            compiled.job,
            lambda: opened(device, compiled, 1, run.path),
            loaders=loaded.loaders,
            machine=machine_of(device, 1),
            scratch=Path(scratch),
            first=first,
            until=until,
        )


def _same(run: runs.Run, loaded: Any, device: Device, compile: Compiler) -> Compiled:
    """A run's own file, compiled again. Raises E-RESUME-CHANGED where it is another experiment."""
    compiled = compile(loaded, device)
    told = run.manifest["experiment_id"]
    if compiled.job.experiment_id != told:
        raise problem(
            "E-RESUME-CHANGED",
            f"{run.path.name} is experiment {told}; its file is {compiled.job.experiment_id} now",
            hint="Its data or a module has changed, or the program's version.",
            checkpoint=told,
            file_now=compiled.job.experiment_id,
        )
    return compiled
