"""What a scan of a source found, kept in the cache by what it was scanned from (45.15).

`facts` are JSON and are read without NumPy; `arrays` are NumPy's. A cache only saves time.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..caches import cache_folder, remembered, write_whole
from ..experiment.protocols import Header

if TYPE_CHECKING:
    import numpy as np


def stamp(paths: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change of files."""
    found = [(path, path.stat()) for path in paths]
    return tuple((str(p.resolve()), s.st_size, s.st_mtime_ns) for p, s in found)


def source_stamp(header: Header) -> Any:
    """What a source's contents follow from; None where that is not known.

    Its `options`, as they are written, are among it: they say what tokens are."""
    content, paths = header.get("content"), header.get("paths", ())
    if content is None and not paths:
        return None
    return header.get("options"), stamp(paths) if content is None else content


def facts(what: str, given: Any, make: Callable[[], Any]) -> Any:
    """A JSON value made by a scan, once for a stamp; each time where the stamp is None."""
    return make() if given is None else remembered("scans", (what, given), make)


def place(what: str, given: Any) -> Path:
    """Where a file that a scan makes is kept: in the cache, or beside other temporary files."""
    import hashlib

    key = hashlib.sha256(repr((what, given)).encode()).hexdigest()[:32]
    folder = cache_folder() / "index"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        folder = Path(tempfile.gettempdir())
    return folder / f"{key}.{what}"


@contextlib.contextmanager
def filled(what: str, given: Any) -> Iterator[BinaryIO]:
    """The file of `place`, to be written: it is there whole, or not at all."""
    path = place(what, given)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "w+b") as file:
            yield file
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def arrays(
    what: str, given: Any, make: Callable[[], Mapping[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Arrays made by a scan, once for a stamp."""
    import io

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
