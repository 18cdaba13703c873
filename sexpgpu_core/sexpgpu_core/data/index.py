"""What a scan of a source found, kept in the cache by the content of what was scanned (45.15).

`facts` are JSON and are read without NumPy; `arrays` are NumPy's. A cache only saves time. Law: the
same bytes have one index wherever they lie, and other bytes have another.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ..caches import cache_folder, recalled, remembered, write_whole
from ..diagnostics import Diagnostic, Problem, diagnostic
from ..experiment.protocols import Header
from ..records import NamedTuple
from . import files
from .files import REACH

if TYPE_CHECKING:
    import numpy as np

SCANNED = 64 << 20
"""Bytes from which on a check leaves the scan of a source to a run."""

_HASHED = 1 << 30
"""Bytes up to which a check reads what looks like the copy of a source that was scanned."""

_BEGIN = 4096
"""Bytes by which a copy is looked for; its hash then says whether it is one."""

_YOUNG = 60.0
"""Seconds in which a file may be there whose writer has not locked it yet."""

_TELLS = 5.0
"""Seconds between two words about how far a scan is."""


class Unscanned(Problem):
    """W-DATA-UNREAD of a source that a check leaves alone. `header`: what is known before a scan,
    without `count` or `tokens`."""

    def __init__(self, said: Diagnostic, header: Header) -> None:
        super().__init__(said)
        self.header = header


class Index(NamedTuple):
    """What a scan found, and what `place` keeps its files by."""

    facts: Any
    given: Any


def indexed(
    what: str,
    paths: Sequence[Path],
    said: Any,
    scan: Callable[[Scan], Any],
    *,
    before: Callable[[], Header],
    needs: str = "",
    doing: str = "scanning",
) -> Index:
    """The facts of files, by one scan that reads them whole; kept by their content and by `said`.

    `before`: what is known without a scan. `needs`: a file of the scan's that is to be there.
    `doing`: what the scan is called.
    Raises Unscanned in a check of large files, else what `scan` raises.
    """
    hashes = known(paths)
    given = (hashes, said)
    found = None if hashes is None else recalled("scans", (what, given))
    if found is not None and (not needs or place(needs, given).is_file()):
        return Index(found, given)
    if left(paths):
        raise Unscanned(unscanned(paths), before())
    with Scan(paths, doing) as reading:
        found = scan(reading)
        given = (reading.hashes(), said)
        reading.keep(given)
    remembered("scans", (what, given), lambda: found, anew=True)
    return Index(found, given)


def left(paths: Sequence[Path]) -> bool:
    """Whether this is a check, and to read the files whole is left to a run."""
    return not REACH.asks and size(paths) >= SCANNED


def size(paths: Iterable[Path]) -> int:
    """Bytes of files."""
    return sum(path.stat().st_size for path in paths)


def unscanned(paths: Sequence[Path], why: str = "how many examples there are") -> Diagnostic:
    """W-DATA-UNREAD of large files."""
    more = f" and {len(paths) - 1} more files" if len(paths) > 1 else ""
    return diagnostic(
        "W-DATA-UNREAD",
        f"{paths[0].name}{more} ({size(paths) / 1e6:,.0f} MB) was not scanned: {why} is not known; "
        f"a check scans what is below {SCANNED >> 20} MB",
        hint="check --data scans it, and so does a run before it compiles, once for its content",
        bytes=size(paths),
    )


# By content -----------------------------------------------------------------------------------


def known(paths: Sequence[Path]) -> tuple[str, ...] | None:
    """Hashes of files that were read before, or begin as files do that were scanned; else None.

    A check hashes up to _HASHED bytes."""
    found = tuple(files.known_hash(path) for path in paths)
    if None not in found:
        return cast("tuple[str, ...]", found)
    if recalled("begins", _begins(paths)) is None:
        return None
    if not REACH.asks and size(paths) > _HASHED:
        return None
    return tuple(files.content_hash(path) for path in paths)


def _begins(paths: Iterable[Path]) -> tuple[tuple[int, str], ...]:
    """Size of each file and a hash of its first bytes."""
    import hashlib

    found = []
    for path in paths:
        with open(path, "rb") as file:
            begin = hashlib.sha256(file.read(_BEGIN)).hexdigest()
        found.append((path.stat().st_size, begin))
    return tuple(found)


class Scan:
    """One reading of files: their hashes, and files of the cache that it fills."""

    def __init__(self, paths: Sequence[Path], doing: str) -> None:
        self._paths, self._doing, self._size, self._done = paths, doing, size(paths), 0
        self._hashes: dict[Path, str] = {}
        self._made = contextlib.ExitStack()
        self._named: dict[str, tuple[Path, BinaryIO]] = {}
        self._began = self._told = time.monotonic()
        self._long = self._size >= SCANNED

    def __enter__(self) -> Scan:
        self._tell("")
        return self

    def __exit__(self, *_: object) -> None:
        self._made.close()
        REACH.scanned += time.monotonic() - self._began

    @contextlib.contextmanager
    def open(self, path: Path) -> Iterator[BinaryIO]:
        """A file that is read to its end, and hashed by what is read."""
        stamp = files.stamp(path)
        raw = _Hashing(path, self._count)
        with io.BufferedReader(raw, 1 << 20) as file:
            yield file
            while file.read(1 << 20):
                pass
        self._hashes[path] = raw.hash.hexdigest()
        if stamp == files.stamp(path):
            files.hash_known(stamp, self._hashes[path])

    def filled(self, what: str) -> BinaryIO:
        """A file of the cache, to be written."""
        path = _folder() / f".scan.{os.getpid()}.{id(self)}.{what}"
        file = self._made.enter_context(_unfinished(path))
        self._named[what] = path, file
        return file

    def hashes(self) -> tuple[str, ...]:
        """Of the content of all files, as it was read."""
        return tuple(self._hashes[path] for path in self._paths)

    def keep(self, given: Any) -> None:
        """Put the filled files where `place` finds them, and let copies be looked for."""
        for what, (path, file) in self._named.items():
            file.flush()
            os.replace(path, place(what, given))
        remembered("begins", _begins(self._paths), lambda: True, anew=True)
        self._tell(f" in {time.monotonic() - self._began:.1f} s")

    def _count(self, read: int) -> None:
        if REACH.pause is not None:
            REACH.pause()
        self._done += read
        if time.monotonic() - self._told > _TELLS:
            self._told, self._long = time.monotonic(), True
            self._tell(f": {self._done / 1e6:,.0f} MB read")

    def _tell(self, how: str) -> None:
        if self._long and REACH.tell is not None:
            REACH.tell(f"{self._doing} {self._paths[0].name}, {self._size / 1e6:,.0f} MB{how}")


class _Hashing(io.RawIOBase):
    """The bytes of a file, hashed as they are read."""

    def __init__(self, path: Path, count: Callable[[int], None]) -> None:
        import hashlib

        self.hash, self._file, self._count = hashlib.sha256(), io.FileIO(path), count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.readinto(buffer) or 0
        self.hash.update(memoryview(buffer)[:found])
        self._count(found)
        return found

    def close(self) -> None:
        self._file.close()
        super().close()


# Facts and arrays of a source -----------------------------------------------------------------


def stamp(paths: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change of files."""
    return tuple(map(files.stamp, paths))


def source_stamp(header: Header) -> Any:
    """What a source's contents follow from; None where that is not known.

    Its `options`, as they are written, are among it: they say what tokens are."""
    found, paths = header.get("content"), header.get("paths", ())
    if found is None and paths:
        found = content(paths)
    return None if found is None else (header.get("options"), found)


def content(paths: Sequence[Path]) -> tuple[str, ...] | None:
    """Hashes of files; None of large ones in a check that were not read before."""
    return known(paths) if left(paths) else tuple(map(files.content_hash, paths))


def facts(what: str, given: Any, make: Callable[[], Any], paths: Sequence[Path] = ()) -> Any:
    """A JSON value made by reading a source, once for a stamp; each time where the stamp is None.

    `paths`: the source's files. None of large ones in a check, where it is not known."""
    if left(paths):
        return None if given is None else recalled("scans", (what, given))
    return make() if given is None else remembered("scans", (what, given), make)


def place(what: str, given: Any) -> Path:
    """Where a file that a scan makes is kept: in the cache, or beside other temporary files."""
    import hashlib

    key = hashlib.sha256(repr((what, given)).encode()).hexdigest()[:32]
    return _folder() / f"{key}.{what}"


def _folder() -> Path:
    folder = cache_folder() / "index"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else Path(tempfile.gettempdir())


@contextlib.contextmanager
def filled(what: str, given: Any) -> Iterator[BinaryIO]:
    """The file of `place`, to be written: it is there whole, or not at all."""
    path = place(what, given)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    with _unfinished(beside) as file:
        yield file
        file.flush()
        os.replace(beside, path)


@contextlib.contextmanager
def _unfinished(path: Path) -> Iterator[BinaryIO]:
    """A file to be written and renamed; removed where it was not, by the next one that writes if
    this process is killed."""
    import fcntl

    _sweep(_folder())
    try:
        with open(path, "w+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
    finally:
        path.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Removes what processes left unfinished that are no more: nobody holds a lock on it."""
    import fcntl

    if folder != cache_folder() / "index":  # where others have files
        return
    for path in folder.glob(".*"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if time.time() - path.stat().st_mtime > _YOUNG:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)


def arrays(
    what: str, given: Any, make: Callable[[], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Arrays made by a scan, once for a stamp."""
    import numpy as np

    if given is None:
        return dict(make())
    path = place(f"{what}.npz", given)
    unread = (OSError, ValueError, KeyError, EOFError)
    with contextlib.suppress(*unread), np.load(path, allow_pickle=False) as found:
        return {name: found[name] for name in found.files}
    made = dict(make())
    packed = io.BytesIO()
    np.savez(packed, **made)  # type: ignore[arg-type]
    with contextlib.suppress(OSError):
        write_whole(path, packed.getvalue())
    return made
