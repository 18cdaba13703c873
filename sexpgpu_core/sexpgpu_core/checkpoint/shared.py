"""Values that no step writes: one file, written once and then a second name of the same bytes in
every checkpoint (R34). What a checkpoint names stays as long as one of them names it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records import NamedTuple
from .disk import Disk, digest, read

if TYPE_CHECKING:
    from .folder import Saved

FILE = "frozen.safetensors"
STORED = "frozen"
"""Where a store has them, by content: frozen/SHA256/frozen.safetensors."""


class Written(NamedTuple):
    """The newest name of the file, what is in it. `changed`: its time, in ns, which another name
    leaves as it is."""

    path: Path
    sha256: str
    bytes: int
    changed: int

    def stands(self) -> bool:
        """Whether it is there, and nobody wrote into it."""
        with contextlib.suppress(OSError):
            told = self.path.stat()
            return (told.st_size, told.st_mtime_ns) == (self.bytes, self.changed)
        return False


class Shared:
    """Of one run, by the process that writes. A disk without second names holds copies."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._at: Written | None = None
        self._linking = True  # until a second name is refused

    def holds(self) -> bool:
        """Whether the next checkpoint needs no values, for it names what is there."""
        if self._at is not None and not self._at.stands():
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
            return self._again(known, path)
        known = _equal(pieces, whole()) if self._linking else None
        if known is not None and self._second(known.path, path):
            return known.sha256, known.bytes
        return self._write(path, pieces())

    def placed(self, saved: Saved) -> None:
        """A checkpoint is durable: its name of the file is the newest."""
        for file in saved.document["files"]:
            if file["path"] == FILE and self._linking:
                with contextlib.suppress(OSError):  # gone already: the next one writes it
                    self._at = _written(saved.path / FILE, file)

    def _again(self, known: Written, path: Path) -> tuple[str, int]:
        """A name more, or where a file can have no more (65,000 on ext4), a copy that can."""
        if self._second(known.path, path):
            return known.sha256, known.bytes
        written = self._write(path, read(known.path))
        if written[0] != known.sha256:
            raise OSError(errno.EIO, f"{known.path} was changed")
        return written

    def _write(self, path: Path, pieces: Iterable[Any]) -> tuple[str, int]:
        """A new file; whether it can have another name is tried at once."""
        written = self._disk.write(path, pieces)
        probe = path.with_name(f".{path.name}")
        self._linking = self._second(path, probe)
        probe.unlink(missing_ok=True)
        return written

    def _second(self, path: Path, new: Path) -> bool:
        """Whether the file has another name now."""
        try:
            self._disk.link(path, new)
        except OSError:
            return False
        return True


def _written(path: Path, file: Mapping[str, Any]) -> Written:
    """By its entry in checkpoint.json. Raises OSError."""
    return Written(path, file["sha256"], int(file["bytes"]), path.stat().st_mtime_ns)


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
        with contextlib.suppress(OSError):  # one that cannot be read is not equal
            if file["sha256"] == wanted and digest(path) == wanted:
                return _written(path, file)
    return None


def held(found: Iterable[Saved]) -> int:
    """Bytes of checkpoints together; a file that several name is counted once."""
    total, seen = 0, set[Any]()
    for saved in found:
        for file in saved.document.get("files", ()):
            key = _key(saved.path, str(file["path"]))
            if key is None or key not in seen:
                total += int(file["bytes"])
                seen.add(key)
    return total


def _key(folder: Path, file: str) -> Any:
    """What is the same of all that share a file: a store has it by content."""
    if file.startswith(f"{STORED}/"):
        return file
    return _identity(folder / FILE) if file == FILE else None


def one_file(path: Path, other: Path) -> bool:
    """Whether both are names of the same bytes, so that what harms one harms the other."""
    there = _identity(path)
    return there is not None and there == _identity(other)


def _identity(path: Path) -> tuple[int, int] | None:
    """What all names of a file have in common."""
    try:
        told = path.stat()
    except OSError:
        return None
    return told.st_dev, told.st_ino
