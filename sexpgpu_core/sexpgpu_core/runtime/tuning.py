"""Which algorithms a device's libraries take: picked once, before step 0, kept in the run's folder
and taken again by every attempt that goes on (45.12)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from ..caches import write_whole
from ..diagnostics import problem

FILE = "tuning.json"


class Picks(Protocol):
    """What a device may have as `picks`."""

    def document(self) -> str:
        """What was picked in this process, as text; empty where nothing was."""
        ...

    def take(self, document: str) -> None:
        """Picks that stand over all others. ValueError where it is no such document."""
        ...


def opened(device: Any, folder: Path, open: Callable[[], Any]) -> Any:
    """The session, opened with what the folder kept; what it picked is kept there. Raises
    E-RUN-TUNING where the file is damaged."""
    picks: Picks | None = getattr(device, "picks", None)
    if picks is None:
        return open()
    file = folder / FILE
    if file.exists():
        _taken(picks, file)
    session = open()
    document = picks.document()
    if document:
        write_whole(file, document.encode())
    return session


def inherited(parent: Path, folder: Path) -> None:
    """A fork begins with what its parent kept."""
    if (parent / FILE).exists():
        write_whole(folder / FILE, (parent / FILE).read_bytes())


def _taken(picks: Picks, file: Path) -> None:
    try:
        picks.take(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise problem(
            "E-RUN-TUNING",
            f"{file} is not what a run keeps of its algorithms: {error}",
            hint="delete it: they are picked anew, and bits may differ from here on",
        ) from error
