"""Values that no step writes: one file, written once and then a second name of the same bytes in
every checkpoint (R34). What a checkpoint names stays as long as one of them names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records import NamedTuple
from .disk import Disk, digest

if TYPE_CHECKING:
    from .folder import Saved

FILE = "frozen.safetensors"
STORED = "frozen"
"""Where a store has them, by content: frozen/SHA256/frozen.safetensors."""


class Written(NamedTuple):
    """The newest name of the file, what is in it."""

    path: Path
    sha256: str
    bytes: int


class Shared:
    """Of one run, by the process that writes. A disk without second names holds copies."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._at: Written | None = None
        self._linking = True  # until a second name is refused

    def holds(self) -> bool:
        """Whether the next checkpoint needs no values, for it names what is there."""
        if self._at is not None and not self._at.path.is_file():
            self._at = None
        return self._at is not None

    def put(
        self, path: Path, pieces: Callable[[], Iterable[Any]], whole: Callable[[], Sequence[Saved]]
    ) -> tuple[str, int]:
        """Make `path`, synced: its hash and bytes. `pieces` are asked for where `holds` is false,
        as by the first checkpoint of a process, which looks for the same among `whole`. Raises
        OSError."""
        known, self._at = self._at, None
        if known is not None:
            self._disk.link(known.path, path)
            return known.sha256, known.bytes
        known = _equal(pieces, whole()) if self._linking else None
        if known is not None and self._second(known.path, path):
            return known.sha256, known.bytes
        written = self._disk.write(path, pieces())
        probe = path.with_name(f".{path.name}")
        self._linking = self._second(path, probe)
        probe.unlink(missing_ok=True)
        return written

    def placed(self, saved: Saved) -> None:
        """A checkpoint is durable: its name of the file is the newest."""
        for file in saved.document["files"]:
            if file["path"] == FILE and self._linking:
                self._at = Written(saved.path / FILE, file["sha256"], int(file["bytes"]))

    def _second(self, path: Path, new: Path) -> bool:
        """Whether the file has another name now."""
        try:
            self._disk.link(path, new)
        except OSError:
            return False
        return True


def _equal(pieces: Callable[[], Iterable[Any]], whole: Sequence[Saved]) -> Written | None:
    """The newest file with these very bytes, hashed: a damaged one is given no second name."""
    import hashlib

    named = [(s.path / FILE, f) for s in whole for f in s.document["files"] if f["path"] == FILE]
    if not named:
        return None
    sha = hashlib.sha256()
    for piece in pieces():
        sha.update(piece)
    wanted = sha.hexdigest()
    for path, file in reversed(named):
        if file["sha256"] == wanted and digest(path) == wanted:
            return Written(path, wanted, int(file["bytes"]))
    return None


def held(found: Iterable[Saved]) -> int:
    """Bytes of checkpoints together; what several name is counted once."""
    files = [file for saved in found for file in saved.document.get("files", ())]
    once = {file["sha256"]: int(file["bytes"]) for file in files if file["path"] == FILE}
    return sum(int(f["bytes"]) for f in files if f["path"] != FILE) + sum(once.values())
