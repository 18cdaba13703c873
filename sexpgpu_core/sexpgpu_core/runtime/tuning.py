"""Which algorithms a device's libraries take: picked once, before step 0, kept in the run's folder
and taken again by every attempt that goes on; part of the numerics key (45.12)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..caches import write_whole
from ..diagnostics import diagnostic, problem
from . import runs
from .machine import TUNING

if TYPE_CHECKING:
    from ..checkpoint.folder import Checkpoint
    from .folder import RunFolder

FILE = "tuning.json"


class Picks(Protocol):
    """What a device may have as `picks`."""

    def take(self, document: str) -> None:
        """Another run begins. Its picks stand over all others; empty where it kept none.
        ValueError where it is no such document."""
        ...

    def document(self) -> str:
        """What the run took and picked since, as text; empty where that is nothing."""
        ...

    def given(self, programs: Collection[str]) -> str:
        """What the calls of some programs were given, as text; empty where they have none."""
        ...


def take(device: Any, path: Path) -> None:
    """Before a session is opened: a run's picks are its folder's. Raises E-RUN-TUNING where the
    file is damaged."""
    picks: Picks | None = getattr(device, "picks", None)
    if picks is None:
        return
    file = path / FILE
    try:
        picks.take(file.read_text(encoding="utf-8") if file.exists() else "")
    except ValueError as error:
        raise problem(
            "E-RUN-TUNING",
            f"{file} is not what a run keeps of its algorithms: {error}",
            hint="delete it: they are picked anew, and bits may differ from here on",
        ) from error


def keep(
    device: Any, folder: RunFolder, programs: Collection[str], checkpoint: Checkpoint | None
) -> None:
    """Once a session is open: its picks into the folder, and those of the `programs` that train
    into the numerics key. W-RESUME-NUMERICS is logged where a checkpoint had others."""
    picks: Picks | None = getattr(device, "picks", None)
    document = picks.document() if picks is not None else ""
    if document:
        write_whole(folder.path / FILE, document.encode())
        if folder.mirror is not None:
            folder.mirror.text(FILE)
    given = picks.given(programs) if picks is not None else ""
    now = hashlib.sha256(given.encode()).hexdigest()[:16] if given else None
    if now is not None:
        _into_the_key(folder, now)
    before = now if checkpoint is None else checkpoint.document.get("numerics", {}).get(TUNING)
    if before != now:
        told = f"{TUNING} was {before}, is {now}"
        found = diagnostic("W-RESUME-NUMERICS", told, differs=[TUNING])
        folder.events.warn(found, int(checkpoint.document["step"]) if checkpoint else 0)


def _into_the_key(folder: RunFolder, key: str) -> None:
    """For the checkpoints to come, and the manifest if it is this attempt's."""
    numerics = {**folder.machine.numerics, TUNING: key}
    folder.machine = folder.machine._replace(numerics=numerics)
    own = folder.path / runs.ATTEMPTS / str(folder.attempt)
    if (file := (folder.path if folder.attempt == 1 else own) / "manifest.json").exists():
        document = {**json.loads(file.read_text(encoding="utf-8")), "numerics": numerics}
        write_whole(file, (json.dumps(document, indent=1) + "\n").encode())


def inherited(parent: Path, folder: Path) -> None:
    """A fork begins with what its parent kept."""
    if (parent / FILE).exists():
        write_whole(folder / FILE, (parent / FILE).read_bytes())
