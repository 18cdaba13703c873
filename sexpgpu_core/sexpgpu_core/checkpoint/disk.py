"""The few things asked of a disk, so that tests can let each of them fail."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

QUIET = 3600.0
"""Seconds after which a folder that nobody writes into is left over."""


class Disk:
    """A local file system. Every method raises OSError."""

    def write(self, path: Path, pieces: Iterable[Any]) -> tuple[str, int]:
        """A new file, synced; its SHA-256 in hex and its size in bytes."""
        whole, size = hashlib.sha256(), 0
        with open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
                whole.update(piece)
                size += len(piece)
            file.flush()
            os.fsync(file.fileno())
        return whole.hexdigest(), size

    def make(self, folder: Path) -> None:
        folder.mkdir(parents=True)

    def sync(self, folder: Path) -> None:
        """Make the folder's entries durable."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def link(self, old: Path, new: Path) -> None:
        """A second name of a file."""
        os.link(old, new)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def remove(self, folder: Path) -> None:
        """Delete a folder with what is in it; what is not there is no error."""
        shutil.rmtree(folder, ignore_errors=True)


def replaceable(path: Path) -> Path:
    """Where a file that a user names may be renamed to: behind links. OSError where something
    stands that is no file: a rename would put a file in the place of /dev/null."""
    if path.exists() and not path.is_file():
        code = errno.EISDIR if path.is_dir() else errno.EINVAL
        raise OSError(code, os.strerror(code) if path.is_dir() else "Is not a regular file")
    return path.resolve()


def tidy(folder: Path, now: float | None = None) -> None:
    """Remove `.tmp-*` folders that a killed process was filling: nothing in them has changed for
    an hour, by the clock of this machine."""
    before = (time.time() if now is None else now) - QUIET
    for path in folder.glob(".tmp-*"):
        with contextlib.suppress(OSError):  # another removes or renames it
            if max(inside.stat().st_mtime for inside in (path, *path.rglob("*"))) < before:
                shutil.rmtree(path)


def read(path: Path) -> Iterator[bytes]:
    """A file in pieces."""
    with open(path, "rb") as file:
        while piece := file.read(1 << 22):
            yield piece


def digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    whole = hashlib.sha256()
    for piece in read(path):
        whole.update(piece)
    return whole.hexdigest()
