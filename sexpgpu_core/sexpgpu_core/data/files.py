"""Paths, globs and bytes of a source's files. A missing one is told with the nearest there is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from ..caches import recalled, remembered
from ..diagnostics import Problem, nearest, problem

_GLOB = frozenset("*?[")

_LONG = 4 << 30
"""Bytes of a file whose hash takes long enough to be told of."""


class Reach:
    """How far a source is read, in all threads.

    `asks`: servers are asked for what is at a URL, and large files are scanned (data.index).
    `cache_gb`: gigabytes of servers' objects that the cache keeps ([data] cache_gb). `tell`: takes
    words about a scan that lasts. `pause`: called while a scan reads; what it raises ends it.
    `scanned`: seconds that scans took."""

    asks = True
    cache_gb = 50
    tell: Callable[[str], None] | None = None
    pause: Callable[[], None] | None = None
    scanned = 0.0


REACH = Reach()


@contextlib.contextmanager
def unasked(really: bool = True) -> Iterator[None]:
    """Within it no server is asked and nothing large is scanned: what the cache does not have is
    W-DATA-UNREAD."""
    before, REACH.asks = REACH.asks, not really
    try:
        yield
    finally:
        REACH.asks = before


def paths_of(written: Any, base: str) -> list[Path]:
    """Files that one path, one glob or a list of them names, relative to `base`, globs sorted; of
    URLs of s3:// the files of the cache."""
    several = written if isinstance(written, (tuple, list)) else (written,)
    found: list[Path] = []
    for item in several:
        if not isinstance(item, str):
            raise problem("E-OPTION-VALUE", f"a path is a string, not {item!r}", wanted="string")
        found += _remote(item) if item.startswith("s3://") else _match(item, base)
    return found


def _remote(url: str) -> list[Path]:
    from .remote import files_of

    return files_of(url)


def _match(text: str, base: str) -> list[Path]:
    folder = Path(base)
    if _GLOB & set(text):
        # a pattern may be absolute, which Path.glob refuses
        from glob import escape, glob

        pattern = os.path.join(escape(str(folder)), text)
        matches = sorted(glob(pattern, recursive=True))
        files = [Path(match) for match in matches if os.path.isfile(match)]
        if files:
            return files
        raise missing(text, folder)
    path = folder / text
    if path.is_file():
        return [path]
    raise missing(text, folder)


def missing(text: str, folder: Path) -> Problem:
    """E-DATA-MISSING for a path as it was written; `nearest` is what exists and is most like it."""
    near = _nearest_path(text, folder)
    hint = f'The nearest that exists is "{near}".' if near else "No file there is named alike."
    return problem(
        "E-DATA-MISSING",
        f'no file matches "{text}"',
        hint=f"{hint} Paths are relative to the run file.",
        path=text,
        nearest=near,
    )


def _nearest_path(text: str, folder: Path) -> str | None:
    """The path with each part that does not exist replaced by its nearest neighbour."""
    done = Path(text).anchor
    for part in Path(text).parts[1 if done else 0 :]:
        here = folder / done
        names = sorted(os.listdir(here)) if here.is_dir() else []
        chosen = part if part in names or part == ".." else nearest(part, names)
        if chosen is None:
            return _same_name(text, folder)
        done = os.path.join(done, chosen)
    return done.replace(os.sep, "/") or None


def _same_name(text: str, folder: Path) -> str | None:
    """A file of the wanted name one level below the folder, where it is often looked for."""
    name = Path(text).name
    for where in sorted(folder.glob("*/")) if folder.is_dir() else ():
        if (where / name).is_file():
            return f"{where.name}/{name}"
    return name if (folder / name).is_file() else None


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where its name ends in .gz."""
    if path.suffix == ".gz":
        import gzip

        return gzip.open(path, "rb")  # type: ignore[return-value]
    return open(path, "rb")


def fingerprint(said: str, paths: Iterable[Path]) -> str:
    """SHA-256 over what is said of the files and the contents of all of them, in order.

    Contents are read once while a file's path, size and time of change are the same.
    """
    import hashlib

    whole = hashlib.sha256(said.encode())
    for path in paths:
        whole.update(content_hash(path).encode())
    return "sha256:" + whole.hexdigest()


def content_hash(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    import hashlib

    def read() -> str:
        whole = hashlib.sha256()
        if path.stat().st_size > _LONG and REACH.tell is not None:
            REACH.tell(f"hashing {path.name}, {path.stat().st_size / 1e6:,.0f} MB, once")
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                whole.update(chunk)
                if REACH.pause is not None:
                    REACH.pause()
        return whole.hexdigest()

    return str(remembered("content", stamp(path), read))


def known_hash(path: Path) -> str | None:
    """`content_hash` of a file that was read before."""
    return recalled("content", stamp(path))


def hash_known(stamp: tuple[str, int, int], found: str) -> None:
    """Remember what was read while the file had a stamp."""
    remembered("content", stamp, lambda: found, anew=True)


def stamp(path: Path) -> tuple[str, int, int]:
    """Path, size and time of change: as long as they are the same, a file is not read again."""
    found = path.stat()
    return str(path.resolve()), found.st_size, found.st_mtime_ns
