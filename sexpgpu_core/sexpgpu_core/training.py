"""A loaded file and a device to a finished run: compile, open, begin or reopen, loop."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .checkpoint.store import probe
from .chosen import sinks_of
from .data.files import REACH
from .diagnostics import Problem, Problems, problem
from .diagnostics.allow import not_allowed
from .experiment.protocols import Sink, Store
from .records import NamedTuple
from .registered import store_of
from .runtime import control, room, runs, tuning
from .runtime.attempt import attempt, named
from .runtime.begin import exists
from .runtime.doubles import Doubles
from .runtime.machine import machine
from .runtime.mirror import Mirror, brought_back
from .runtime.proof import Proof
from .runtime.resume import Words, unknown
from .runtime.run import Summary, failed, interrupted
from .runtime.run import run as run_loop
from .runtime.signals import Early, Signals
from .runtime.sinks import Sinks
from .runtime.slug import check_name

if TYPE_CHECKING:
    from .checkpoint.folder import Checkpoint
    from .compile.pipeline import Compiled
    from .device import Device
    from .ir import Operations
    from .registry import Registry
    from .runtime.fault import Cause, Fault
    from .runtime.folder import RunFolder
    from .runtime.machine import Machine
    from .runtime.sampling import Plan, Resampled

PROCESS = 200_000_000
"""Bytes that a process with its libraries takes beside what is planned."""

Compiler = Callable[[Any, "Device"], "Compiled"]


class Asked(NamedTuple):
    """What is said of a run when it is started, beside its file.

    `resume` to `origin` and `words`: see runtime.attempt. `if_exists`: run, reuse or fail.
    `dry`: one step in a folder that is thrown away.
    """

    threads: int | None = None
    name: str | None = None
    resume: str | None = None
    changed: bool = False
    anew: tuple[str, ...] = ()
    origin: str | None = None
    if_exists: str = "run"
    deadline: float | None = None
    dry: bool = False
    store: str | None = None
    sinks: tuple[str, ...] = ()
    words: Words = unknown


def train(
    loaded: Any,
    device: Device,
    compile: Compiler,
    operations: Callable[[Any], Operations],
    *,
    asked: Asked,
    root: Path,
    progress: Any,
) -> Summary:
    """Compile, then run. Signals are taken from here on, also while it compiles.

    Raises E-STORE-* before that where the store cannot be written.
    """
    if asked.name is not None:
        check_name(asked.name)
    if asked.resume is not None or asked.origin is not None:
        asked = _located(loaded.registry, asked, root)
    store = store_of(loaded.registry, asked.store) if asked.store is not None else None
    sinks = sinks_of(loaded.registry, asked.sinks) if asked.sinks else {}
    if store is not None and (refused := probe(store)) is not None:
        raise refused
    with Signals() as signals:
        start = time.perf_counter() - REACH.scanned
        here = machine_of(device, asked.threads)
        with signals.scanning():
            compiled = compile(loaded, device)
        start += REACH.scanned  # a scan is no compilation
        if progress is not None:
            progress.warnings(not_allowed(loaded.evaluator.diagnostics))
        earlier = _earlier(root, compiled.job.experiment_id, asked)
        if earlier is not None:
            return _reused(earlier, here, progress)
        parts = (loaded, device, compiled, operations, asked, here, signals, progress, start)
        if not asked.dry:
            plan = observers(loaded, device, compiled, operations)
            return _run(*parts, root, store, plan, sinks)
        told = forecast(loaded, device, compiled, operations, asked.threads)
        with tempfile.TemporaryDirectory(prefix="sexpgpu-") as scratch:
            done = _run(*parts, Path(scratch), None)
        return done._replace(status={**done.status, "predicted": told})


def _located(registry: Registry, asked: Asked, root: Path) -> Asked:
    """With runs of stores brought here. A run that goes on is mirrored where it came from."""
    from .config import settings
    from .remote import brought, here, place

    if (at := place(asked.resume)) is not None:
        return asked._replace(resume=here(registry, at, root), store=asked.store or at.store)
    if (at := place(asked.origin)) is not None:
        step = at.step or "latest"
        run = brought(registry, at, settings().cache, runs.step(step))
        return asked._replace(origin=f"{run.path}@{step}")
    return asked


def observers(
    loaded: Any, device: Device, compiled: Compiled, operations: Callable[[Any], Operations]
) -> Plan:
    """Plans the observers of another selection of diagnostic numbers, beside what is compiled."""

    def plan(globs: Sequence[str]) -> Mapping[str, Resampled]:
        from .compile.pipeline import compile_observers
        from .compile.probes import rows_of

        rows, known = (lambda: rows_of(loaded.registry)), operations(loaded.registry)
        return compile_observers(compiled, globs, loaded.evaluator, known, device, rows)

    return plan


def machine_of(device: Device, threads: int | None) -> Machine:
    """A device that is here, as documents say it. E-DEVICE-ABSENT with what mends it."""
    facts = device.probe()
    if not facts.present:
        raise problem("E-DEVICE-ABSENT", f"{device.name}: {facts.why}", hint=facts.fix or None)
    return machine(device, facts, kind=device.name, threads=threads)


def _earlier(root: Path, experiment_id: str, asked: Asked) -> runs.Run | None:
    """The run to give again under --if-exists reuse. Raises E-RUN-EXISTS under fail."""
    going_on = asked.resume and asked.resume != "auto"  # auto: or what has finished, or anew
    if asked.if_exists == "run" or going_on or asked.origin or asked.dry:
        return None
    same = [r for r in runs.listing(root) if r.manifest["experiment_id"] == experiment_id]
    if asked.if_exists == "reuse":
        return next((run for run in same if run.state == "finished"), None)
    if same:
        told = f"{same[0].path.name} is this experiment: {same[0].state}"
        hint = "--if-exists reuse takes it; another --seed is another experiment."
        raise problem("E-RUN-EXISTS", told, hint=hint, run=same[0].path.name)
    return None


def _reused(earlier: runs.Run, here: Machine, progress: Any) -> Summary:
    status = dict(earlier.sound().status or {})
    if progress is not None:
        hint = "this is its result, nothing was run; another --seed is another experiment"
        progress.warnings([exists(earlier, here, hint)])
    summary = status.get("summary")
    return Summary("finished", int(status["exit"]), "reuse", None, summary, status, earlier.path)


def _run(
    loaded: Any,
    device: Device,
    compiled: Compiled,
    operations: Callable[[Any], Operations],
    asked: Asked,
    here: Machine,
    signals: Signals,
    progress: Any,
    start: float,
    root: Path,
    store: Store | None,
    plan: Plan | None = None,
    sinks: Mapping[str, Callable[[], Sink]] = {},
) -> Summary:
    if store is not None and (asked.resume == "auto" or named(asked.resume)):
        brought_back(store, compiled.job.experiment_id, root, asked.name)
    folder, checkpoint = attempt(
        compiled.job,
        root=root,
        machine=here,
        loaders=loaded.loaders,
        resume=asked.resume,
        changed=asked.changed,
        anew=asked.anew,
        words=asked.words,
        origin=asked.origin,
        name=asked.name,
        listener=progress.event if progress is not None else None,
    )
    if progress is not None:
        progress.began(folder.path)
    try:
        if store is not None:
            folder.mirror = Mirror(store, folder.path)
            folder.mirror.begin()
        if sinks:
            folder.sinks = Sinks(sinks)
            folder.sinks.begin(folder.events)
        with signals.compiling(partial(control.stop_asked, folder.path)):
            _in_time(loaded, device, compiled, operations, asked, folder, checkpoint)
            session = _opened(device, compiled, asked.threads, folder)
        tuning.keep(device, folder, compiled.job.trained, checkpoint)
        if not asked.dry:
            _fits(compiled, folder, session)
            folder.proof = _proof(device, compiled, folder)
            if checkpoint is None:
                folder.doubles = Doubles(loaded.loaders, compiled.job, folder.events)
    except (Problem, Problems) as error:
        found = error.diagnostic if isinstance(error, Problem) else error.diagnostics[0]
        return failed(folder, found, checkpoint)
    except Early:
        return interrupted(folder, signals, checkpoint)
    if signals.reason is not None:
        session.close()
        return interrupted(folder, signals, checkpoint)
    _told(folder, compiled, session, time.perf_counter() - start)
    try:
        return run_loop(
            compiled.job,
            session,
            folder,
            loaders=loaded.loaders,
            resume=checkpoint,
            signals=signals,
            deadline=asked.deadline,
            explain=_explain(compiled, session, lambda: operations(loaded.registry), folder),
            until=1 if asked.dry else None,
            keep=not asked.dry,
            plan=plan,
        )
    finally:
        session.close()


def _proof(device: Device, compiled: Compiled, folder: RunFolder) -> Proof | None:
    """None on a device that a second process could take memory of that the run may yet want."""
    if not getattr(device, "in_host_memory", False):
        return None
    job, memory = compiled.job, compiled.job.summary["memory"]
    every, needed = job.experiment.run.log_every, 2 * memory["peak_bytes"] + PROCESS
    return Proof(folder.path, folder.events, folder.status, every, job.steps, needed)


def _fits(compiled: Compiled, folder: RunFolder, session: Any) -> None:
    """The disk, once the memory is known to do. Raises E-DEVICE-DISK, the device closed."""
    try:
        room.fits(compiled.job, folder)
    except Problem:
        session.close()
        raise


def _in_time(
    loaded: Any,
    device: Device,
    compiled: Compiled,
    operations: Callable[[Any], Operations],
    asked: Asked,
    folder: RunFolder,
    checkpoint: Checkpoint | None,
) -> None:
    """Where there is a deadline: whether it can be met. Raises E-DEVICE-TIME."""
    deadline = asked.deadline or compiled.job.experiment.run.deadline
    if not deadline or asked.dry:
        return
    from .compile.forecast import ERROR

    done = int(checkpoint.document["step"]) if checkpoint is not None else 0
    told = forecast(loaded, device, compiled, operations, asked.threads)
    late = room.in_time(told, deadline, compiled.job.steps, compiled.job.steps - done, ERROR)
    if late is not None:
        folder.events.warn(late, done)


def forecast(
    loaded: Any,
    device: Device,
    compiled: Compiled,
    operations: Callable[[Any], Operations],
    threads: int | None,
) -> dict[str, Any]:
    """What a run takes on this machine, whose speed is measured where it is not known."""
    from .compile.forecast import forecast as told
    from .compile.forecast import measured

    of = operations(loaded.registry)
    return told(compiled, of, measured(device, of, threads))


def opened(device: Device, compiled: Compiled, threads: int | None, path: Path) -> Any:
    """A session, with the algorithms that the run at `path` keeps."""
    tuning.take(device, path)
    return device.open(compiled.job.units, compiled.job.persistent, threads=threads or 0)


def _opened(device: Device, compiled: Compiled, threads: int | None, folder: RunFolder) -> Any:
    """A session; the status says meanwhile how many of its kernels are compiled."""
    from .device import COMPILED

    watched = COMPILED.set(folder.status.compiled)
    try:
        return opened(device, compiled, threads, folder.path)
    finally:
        COMPILED.reset(watched)


def _explain(
    compiled: Compiled, session: Any, operations: Callable[[], Operations], folder: RunFolder
) -> Callable[[Fault], Cause | None]:
    """Finds what made a launch fault; nothing is imported for it before one does."""

    def explain(fault: Fault) -> Cause | None:
        from .compile.replay import Replay
        from .compile.scales import past

        known = [stage.optimization for stage in compiled.stages.values()]

        def group(path: str) -> Any:
            return next((o.groups[o.group_of[path]] for o in known if path in o.group_of), None)

        before = partial(past, compiled.job, folder)
        return Replay(compiled.job.units, session, operations(), group, before)(fault)

    return explain


def _told(folder: RunFolder, compiled: Compiled, session: Any, seconds: float) -> None:
    """A `compile` event a program: kernels, how many came from the cache, seconds.

    What a program's own code took is its own; the rest of the time is shared out evenly.
    """
    counted: Mapping[str, Any] = getattr(session, "kernels", {})
    own: Mapping[str, float] = getattr(session, "seconds", {})
    # two processes that compile take more together than has passed
    rest = max(0.0, seconds - sum(own.values())) / len(compiled.job.units)
    for unit in compiled.job.units:
        told = {
            "duration_s": round(rest + own.get(unit.name, 0.0), 6),
            **counted.get(unit.name, {}),
        }
        folder.events.write("compile", 0, graph=unit.name, **told)
