"""RUN and SAVE on the command line: what they are called, completed and read as."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from .invocation import Invocation

if TYPE_CHECKING:
    from sexpgpu_core.checkpoint.folder import Saved
    from sexpgpu_core.experiment.protocols import Store
    from sexpgpu_core.runtime.runs import Run

WORDS = ("latest", "best")


class Name(click.ParamType):  # type: ignore[type-arg]  # of click 8.5 and later
    """Text that names a run (or, with `saves`, a checkpoint of one), completed from the folder."""

    def __init__(self, name: str, saves: bool = False) -> None:
        self.name, self.saves = name, saves

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        session: Invocation | None = ctx.find_root().obj
        root = session.settings.runs if session is not None else Path("runs")
        run, at, _ = incomplete.rpartition("@")
        if self.saves and at:
            found = [f"{run}@{step}" for step in (*_steps(root / run), *WORDS)]
        else:
            found = [*_folders(root), *WORDS]
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]


def _folders(root: Path) -> list[str]:
    try:
        entries = [e for e in os.scandir(root) if os.path.exists(f"{e.path}/manifest.json")]
    except OSError:
        return []
    return [e.name for e in sorted(entries, key=lambda e: e.stat().st_mtime, reverse=True)]


def _steps(run: Path) -> list[str]:
    found = sorted((run / "checkpoints").glob("step-????????"))
    return [str(int(path.name[5:])) for path in found if path.name[5:].isdigit()]


RUN = Name("run")
SAVE = Name("save", saves=True)


def run_of(invocation: Invocation, text: str, saves: bool = False) -> Run:
    """The run that RUN means, with documents that can be read; of a store with `saves`, with its
    checkpoints."""
    from sexpgpu_core.runtime import runs

    remote = bringing(invocation, text, "best" if saves else None)
    if remote is not None:
        return remote().sound()
    with no_sweep(invocation, text):
        return runs.find(invocation.settings.runs, text).sound()


@contextmanager
def no_sweep(invocation: Invocation, text: str) -> Iterator[None]:
    """Says of a RUN that is none where it is a sweep, and which runs that has."""
    from sexpgpu_core.diagnostics import Problem

    try:
        yield
    except Problem as unknown:
        folder = sweep_of(invocation, text) if unknown.diagnostic.code == "E-USAGE-RUN" else None
        if folder is None:
            raise
        told = f"{folder.name} is a sweep, and {invocation.verb} takes a run"
        hint = f"status and stop take it; its runs: {_runs_of(folder)}"
        raise Problem(unknown.diagnostic._replace(message=told, hint=hint)) from None


def _runs_of(sweep: Path) -> str:
    from sexpgpu_core.sweeps import document

    made = [point["run"] for point in document.read(sweep)["points"] if point["run"]]
    return " ".join(made[:5]) or "none yet"


def own_run_of(invocation: Invocation, text: str) -> Run:
    """The same, of a run whose folder is here. Raises E-USAGE-VALUE for the URL of a store, where
    no request reaches the run."""
    from sexpgpu_core.diagnostics import problem

    if _elsewhere(text):
        told = f"{invocation.verb} asks a run in its own folder, and {text} is of a store"
        raise problem("E-USAGE-VALUE", told, hint="ask on the machine that runs it")
    return run_of(invocation, text)


def _elsewhere(text: str) -> bool:
    """Whether RUN or SAVE may be of a store: only then what reads one is imported."""
    from sexpgpu_core.runtime import runs

    return "://" in text or any(runs.mirrored(t) for t in (text, text.rpartition("@")[0]) if t)


def store_of(invocation: Invocation, text: str, run: Run) -> Store | None:
    """Where the checkpoints of RUN lie, if that is a store: by its URL, or a folder that is one."""
    from sexpgpu_core.checkpoint.folder import Checkpoints
    from sexpgpu_core.checkpoint.store import Below, LocalStore
    from sexpgpu_core.registered import store_of as opened
    from sexpgpu_core.remote import place

    if (at := place(text)) is not None:
        return Below(opened(invocation.registry, at.store), f"{at.slug}/checkpoints")
    folder = run.path / "checkpoints"
    stored = any(saved.stored for saved in Checkpoints(folder).entries())
    return LocalStore(str(folder)) if stored else None


def bringing(
    invocation: Invocation, text: str, saves: str | None = None
) -> Callable[[], Run] | None:
    """Brings the run of a store, as it is there when it is called; None of one that is here."""
    if not _elsewhere(text):
        return None
    from sexpgpu_core.remote import brought, place

    at = place(text)
    if at is None:
        return None
    return partial(brought, invocation.registry, at, invocation.settings.cache, saves)


def sweep_of(invocation: Invocation, text: str) -> Path | None:
    """The folder of the sweep that RUN means, or None where it means no sweep."""
    from sexpgpu_core.sweeps import document

    return document.find(invocation.settings.runs, text)


def save_of(invocation: Invocation, text: str) -> tuple[Run, Saved]:
    """The run and the checkpoint that SAVE means."""
    from sexpgpu_core.runtime import runs

    if _elsewhere(text):
        from sexpgpu_core.remote import brought, place

        at = place(text)
        if at is not None:
            which = at.step or "latest"
            run = brought(invocation.registry, at, invocation.settings.cache, runs.step(which))
            text = f"{run.path}@{which}"
    with no_sweep(invocation, text.rpartition("@")[0] or text):
        return runs.save(invocation.settings.runs, text)
