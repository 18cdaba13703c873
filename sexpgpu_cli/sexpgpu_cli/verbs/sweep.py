"""`sweep FILE NAME`: the points of a declared sweep, each a run; the ranked table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sexpgpu_core.chosen import executor_of
from sexpgpu_core.diagnostics import Problem, Problems, problem

from .. import files, sweep_text
from ..answer import Answer, bounded, cut
from ..detach import SAFE
from ..engines import EXECUTOR
from ..flags import verb
from ..invocation import Invocation, selection_flags
from .status import LOST, NOT_YET

if TYPE_CHECKING:
    from sexpgpu_core.spans import Source
    from sexpgpu_core.sweeps import Points
    from sexpgpu_core.sweeps.executor import Executor
    from sexpgpu_core.sweeps.works import Plan


@verb("sweep", select=True)
@click.argument("file", metavar="FILE")
@click.argument("name", metavar="NAME")
@click.option(
    *("--executor", "chosen"),
    metavar="local|ray|slurm|NAME[:K=V,...]",
    type=EXECUTOR,
    default="local",
    help="Where points run; a cluster's name, or a plug-in's.",
)
@click.option("--jobs", type=click.IntRange(1), default=1, help="Points at once; 1.")
@click.option("--only", metavar="GLOB", default="*", help="Only the points of such names.")
@click.option("--retry-failed", is_flag=True, help="Run again those that failed.")
@click.option("--list", "listed", is_flag=True, help="Say how each point is; run none.")
@click.option("--device", metavar="NAME", help="As of run.")
@click.option("--threads", type=click.IntRange(1), help="Of a point; the cores shared by --jobs.")
@click.option("--detach", is_flag=True, help="Go on alone; return at once.")
@click.option("--announce", type=int, hidden=True)
def sweep(
    invocation: Invocation,
    file: str,
    name: str,
    selection: dict[str, Any],
    chosen: str,
    jobs: int,
    only: str,
    retry_failed: bool,
    listed: bool,
    detach: bool,
    announce: int | None,
    **asked: Any,
) -> Answer:
    """Run the points of sweep NAME that have not finished; rank all. Exit 3 if some failed."""
    if selection["point"] is not None:
        raise problem("E-USAGE-VALUE", "--point is of one point; --only GLOB chooses some")
    engine, options = executor_of(invocation.registry, chosen, invocation.settings.executors)
    if detach and not listed:
        from ..detach import detached

        return detached(invocation, partial(begun, invocation))
    executor = chosen.partition(":")[0]
    remote = invocation.registry.get("executors", executor).remote
    cores = options.get("cpus") if remote else max(1, (os.cpu_count() or 1) // jobs)
    asked["cores"] = cores if remote or jobs > 1 else None
    from sexpgpu_core.data.files import REACH
    from sexpgpu_core.runtime.signals import leaving

    REACH.tell = invocation.say
    with leaving():
        plan = planned(invocation, file, name, selection, jobs, asked)
    plan = plan._replace(executor=executor, failed=retry_failed)
    if not any(fnmatchcase(point.name, only) for point in plan.points.points):
        names = " ".join([point.name for point in plan.points.points][:8])
        raise problem("E-SWEEP-UNKNOWN", f"{name} has no point {only}", hint=f"there are: {names}")
    plan = plan._replace(only=lambda point: fnmatchcase(point, only))
    if not listed and not remote:
        with leaving():
            _present(files.read(file), plan, asked["device"] or invocation.settings.device)
    return ran(invocation, plan, partial(engine, options), listed, announce)


def ran(
    invocation: Invocation,
    plan: Plan,
    open: Callable[[], Executor],
    listed: bool,
    announce: int | None,
) -> Answer:
    """Run it, or with `listed` only say how it is."""
    from sexpgpu_core.runtime.signals import Signals, leaving
    from sexpgpu_core.sweeps.running import Sweeping

    signals = Signals()
    with leaving():
        sweeping = Sweeping(plan, invocation.settings.runs, open, signals, said=invocation.say)
        if listed:
            return answered(invocation, sweeping.seen(), sweeping.path)
    _edited(invocation, sweeping.path)
    with signals:
        if announce is not None:
            _announce(announce, sweeping.begin())
        count = len(plan.points.points)
        said = sweeping.run(lambda work: invocation.say(sweep_text.ended(work, count)))
    return answered(invocation, said, sweeping.path)._replace(exit=sweeping.exit)


def _edited(invocation: Invocation, folder: Path) -> None:
    """Say that the sweep was run of another text of the file, where this one is new."""
    stem = folder.name.rpartition("-")[0]
    others = [p.name for p in folder.parent.glob(f"{stem}-??????") if p != folder]
    if others and not folder.exists():
        rest = f" and {len(others) - 1} more" if others[1:] else ""
        told = f"{others[0]}{rest}: the file said something else then"
        invocation.say(f"{told}; points that come to the same experiments are not run again")


def _announce(to: int, folder: Path) -> None:
    """Say the folder to who waits for it; from here on what is said goes into it."""
    from ..detach import Announced

    Announced(to, lambda text: None, lambda found: "").began(folder)


def begun(invocation: Invocation, folder: Path) -> Answer:
    """The answer of --detach: how the sweep is as it begins."""
    from sexpgpu_core.sweeps import document

    return answered(invocation, document.read(folder), folder)


def answered(invocation: Invocation, said: dict[str, Any], folder: Path) -> Answer:
    """A sweep's document and its table."""
    begun = folder.exists()  # one that --list shows may have no folder yet
    again = invocation.beside("status", folder.name) if begun else invocation.whole()
    text = bounded(sweep_text.text(said, folder, begun), again, invocation.limit)
    return Answer(_cut(said, invocation.limit, again), text)


def _cut(said: dict[str, Any], limit: int, again: str) -> dict[str, Any]:
    """The document with its lists cut: sweep.json has them whole."""
    told, omitted = dict(said), dict(said.get("omitted", {}))
    for name in ("points", "table"):
        told[name], left = cut(said[name], limit)
        if left:
            omitted[name] = omitted.get(name, 0) + left
            told["more"] = again
    return {**told, "omitted": omitted} if omitted else told


def planned(
    invocation: Invocation,
    file: str,
    name: str,
    selection: dict[str, Any],
    jobs: int,
    asked: dict[str, Any],
) -> Plan:
    """Every point, each evaluated when its turn comes. A point may be wrong, the file not."""
    from sexpgpu_core import api
    from sexpgpu_core.sweeps.works import Plan

    source = files.read(file)
    chosen = {key: value for key, value in selection.items() if key != "point"}
    points = api.sweep(source, name, **chosen)
    _unset(points, chosen["sets"])
    if points.repeated is not None:
        invocation.say(f"{points.repeated.code}: {points.repeated.message}")
    given = {key: chosen[key] for key in ("sets", "steps")}
    words = _words(invocation, file, selection, asked)
    content, modules = _content(source, variant=points.variant, **given)
    given["kept"] = modules
    return Plan(
        file,
        points,
        content,
        lambda point: _identified(source, point=points.choice(point), **given),
        lambda point: [*words, "--point", points.choice(point).name],
        jobs=jobs,
        text=source.text,
        modules=modules,
    )


def _content(source: Source, **chosen: Any) -> tuple[str | None, dict[str, str]]:
    """The experiment of a file without a point, and texts of what it requires, by name and by
    place; of a choice that is wrong what there is."""
    from sexpgpu_core import api

    modules: dict[str, str] = {}
    try:
        loaded = api.load(source, **chosen)
        read = loaded.experiment.modules
        modules = {key: module.text for module in read for key in (module.name, module.path)}
        return api.identity(loaded), modules
    except (Problem, Problems):
        return None, modules


def _unset(points: Points, sets: Sequence[tuple[str, str]]) -> None:
    """Refuse one value for what the sweep varies: -s wins over a point. Raises E-USAGE-VALUE."""
    for knob, text in sets:
        if knob in points.points[0].values:
            told = f"-s {knob}={text} would give all points of {points.sweep.name} one {knob}"
            raise problem("E-USAGE-VALUE", told, hint="leave it out; --only GLOB chooses points")


def _identified(source: Source, **chosen: Any) -> tuple[str | None, str | None]:
    """The experiment of a choice, or the code of why it is none."""
    from sexpgpu_core import api

    try:
        return api.identity(api.load(source, **chosen)), None
    except Problem as wrong:
        return None, wrong.diagnostic.code
    except Problems as wrong:
        return None, wrong.diagnostics[0].code


def _present(source: Source, plan: Plan, device: str | None) -> None:
    """The device is asked once, for all points: without it none of them is at fault. Raises
    E-DEVICE-UNKNOWN, E-DEVICE-ABSENT."""
    from sexpgpu_core import api, training

    for point in plan.points.points:
        try:
            loaded = api.load(source, point=plan.points.choice(point))
        except (Problem, Problems):  # it is told when its turn comes
            continue
        training.machine_of(api.device_for(loaded, device), None)
        return


def _words(
    invocation: Invocation, file: str, selection: dict[str, Any], asked: dict[str, Any]
) -> Sequence[str]:
    """The command of a point but for its name."""
    import shlex

    words = [sys.executable, *SAFE, "-m", "sexpgpu_cli", "run", file]
    words += shlex.split(selection_flags(selection))
    words += [f"--runs={invocation.settings.runs}", "--if-exists=reuse", "--resume=auto"]
    words += ["--json", "-q"]
    device = asked["device"] or invocation.settings.device
    threads = asked["threads"] or invocation.settings.threads or asked["cores"]
    if config := invocation.settings.file:
        words += [f"--config={config}"]
    return [
        *words,
        *([f"--device={device}"] if device else []),
        *([f"--threads={threads}"] if threads else []),
    ]


def status_of(
    invocation: Invocation, folder: Path, until: str | None, timeout: float | None
) -> Answer:
    """What `status` says of a sweep; --until done waits for its end, and exits as it did."""
    from sexpgpu_core.sweeps import document

    if until not in (None, "done"):
        raise problem("E-USAGE-VALUE", f"a sweep is waited for by --until done, not {until}")
    end = None if timeout is None else time.monotonic() + timeout
    said = document.read(folder)
    while until and said["state"] == "running":
        if end is not None and time.monotonic() >= end:
            return answered(invocation, said, folder)._replace(exit=NOT_YET)
        time.sleep(0.1)
        said = document.read(folder)
    return answered(invocation, said, folder)._replace(exit=_ended(said) if until else 0)


def _ended(said: dict[str, Any]) -> int:
    """As what was waited for ended: 3 where a point failed or the sweep's process is gone."""
    if said["counts"].get("failed") or said.get("alive") is False:
        return LOST
    return 0 if said["state"] == "finished" else 75


def stopped(invocation: Invocation, folder: Path, timeout: float | None) -> Answer:
    """What `stop` does to a sweep: points in flight save and end, no more are begun.

    Where its own process is gone, the points that it left running are asked themselves, and what
    it left in a queue is taken out.
    """
    from sexpgpu_core.runtime import control
    from sexpgpu_core.sweeps import document

    said = document.read(folder)
    if said["state"] == "running":
        control.ask(folder, "stop")
        told = status_of(invocation, folder, "done", timeout)
        return told if told.exit == NOT_YET else told._replace(exit=0)
    _unqueue(invocation, folder, said["executor"])
    left = _orphans(folder, said)
    for run in left:
        control.ask(run, "stop")
    end = None if timeout is None else time.monotonic() + timeout
    while left and (end is None or time.monotonic() < end):
        time.sleep(0.1)
        said = document.read(folder)
        left = _orphans(folder, said)
    return answered(invocation, said, folder)._replace(exit=NOT_YET if left else 0)


def _unqueue(invocation: Invocation, folder: Path, executor: str) -> None:
    """Cancel the jobs of a cluster that a sweep's process has left; they may not have begun."""
    from sexpgpu_core.sweeps.flight import cancel_left

    row = invocation.registry.get("executors", executor)
    if row is not None and row.remote:
        settings = invocation.settings
        make, options = executor_of(invocation.registry, executor, settings.executors)
        cancel_left(make(options), executor, folder)


def _orphans(folder: Path, said: dict[str, Any]) -> list[Path]:
    """Runs of a sweep's points that go on."""
    ended = ("pending", "lost", "finished", "failed", "stopped", "preempted")
    live = [point for point in said["points"] if point["state"] not in ended]
    return [folder.parent / point["run"] for point in live if point["run"]]
