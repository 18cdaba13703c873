"""A loaded file and a device to a finished run: compile, open, begin or reopen, loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .diagnostics import Problem, Problems, problem
from .runtime.attempt import attempt
from .runtime.machine import machine
from .runtime.run import Summary, failed, interrupted
from .runtime.run import run as run_loop
from .runtime.signals import Signals

if TYPE_CHECKING:
    from .compile.pipeline import Compiled
    from .device import Device
    from .ir import Operations
    from .runtime.fault import Cause, Fault
    from .runtime.folder import RunFolder


def train(
    loaded: Any,
    device: Device,
    compile: Callable[[Any, Device], Compiled],
    operations: Callable[[Any], Operations],
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
        folder, checkpoint = attempt(
            compiled.job,
            root=root,
            machine=here,
            loaders=loaded.loaders,
            resume=resume,
            name=name,
            listener=listener,
        )
        if signals.reason is not None:
            return interrupted(folder, signals)
        try:
            session = device.open(compiled.job.units, compiled.job.persistent, threads=threads or 0)
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
                explain=_explain(compiled, session, lambda: operations(loaded.registry)),
            )
        finally:
            session.close()


def _explain(
    compiled: Compiled, session: Any, operations: Callable[[], Operations]
) -> Callable[[Fault], Cause | None]:
    """Finds what made a launch fault; nothing is imported for it before one does."""

    def explain(fault: Fault) -> Cause | None:
        from .compile.replay import Replay

        return Replay(compiled.job.units, session, operations())(fault)

    return explain


def _told(folder: RunFolder, compiled: Compiled, session: Any, seconds: float) -> None:
    """A `compile` event a program: kernels, how many came from the cache, seconds.

    What a program's own code took is its own; the rest of the time is shared out evenly.
    """
    counted: Mapping[str, Any] = getattr(session, "kernels", {})
    own: Mapping[str, float] = getattr(session, "seconds", {})
    rest = (seconds - sum(own.values())) / len(compiled.job.units)
    for unit in compiled.job.units:
        duration = round(rest + own.get(unit.name, 0.0), 6)
        told = counted.get(unit.name, {})
        folder.events.write("compile", 0, graph=unit.name, duration_s=duration, **told)
