"""Arrays that stay in their files: rows are read by position into the caller's memory.

No memory map: a file that is cut short while it is read is E-DATA-LOST and never a signal that
ends the process. Law: what is read is what the file held when it was opened, or E-DATA-LOST.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import Problem, problem

if TYPE_CHECKING:
    import numpy as np


class Rows:
    """Rows of one dtype and shape that are read where they lie."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.shape[0]

    def take(self, first: np.ndarray, out: np.ndarray) -> None:
        """Fill out (K, n, *row) with n rows from each place of `first`."""
        raise NotImplementedError

    def rows(self, indices: Any) -> np.ndarray:
        """The rows of some indices, or of a slice."""
        import numpy as np

        if isinstance(indices, slice):
            start, stop, _ = indices.indices(len(self))
            out = np.empty((1, max(0, stop - start), *self.shape[1:]), self.dtype)
            if out.shape[1]:
                self.take(np.array([start]), out)
            whole: np.ndarray = out[0]
            return whole
        out = np.empty((len(indices), 1, *self.shape[1:]), self.dtype)
        self.take(np.asarray(indices, np.int64), out)
        found: np.ndarray = out[:, 0]
        return found


class FileRows(Rows):
    """Rows of one dtype and shape, one after the other from `offset` on. Safe from threads."""

    def __init__(
        self, path: Path, dtype: Any, count: int, row: Sequence[int] = (), offset: int = 0
    ):
        import numpy as np

        self.path, self.dtype, self.offset = path, np.dtype(dtype), offset
        self.shape = (count, *row)
        self._bytes = self.dtype.itemsize * int(np.prod(row, dtype=np.int64))
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - open as long as the rows are
        self._was = _state(os.fstat(self._file.fileno()))
        if self._was[0] < offset + count * self._bytes:
            raise lost(path, f"it has {self._was[0]:,} bytes, fewer than its header says")

    def take(self, first: np.ndarray, out: np.ndarray) -> None:
        """Fill out (K, n, *row) with n rows from each place of `first`."""
        import numpy as np

        size = out.shape[1]
        breaks = (np.flatnonzero(np.diff(first) != size) + 1).tolist()
        for start, end in zip([0, *breaks], [*breaks, len(first)]):
            if end > start:
                self._read(out[start:end], self.offset + int(first[start]) * self._bytes)
        self._unchanged()

    def _read(self, target: np.ndarray, at: int) -> None:
        view = target.view("u1").reshape(-1).data if target.size else memoryview(b"")
        done = 0
        while done < len(view):
            try:
                got = os.preadv(self._file.fileno(), [view[done:]], at + done)
            except OSError as wrong:
                raise lost(self.path, str(wrong)) from wrong
            if got == 0:
                self._unchanged()
                raise lost(self.path, f"it ends at byte {at + done:,}")
            done += got

    def _unchanged(self) -> None:
        found = os.fstat(self._file.fileno())
        now = _state(found)
        if found.st_nlink == 0:
            raise lost(self.path, "it was removed or replaced")
        if now[0] != self._was[0]:
            raise lost(self.path, f"it has {now[0]:,} bytes where it had {self._was[0]:,}")
        if now != self._was:
            raise lost(self.path, "it was written to")


class Joined(Rows):
    """Rows of several files as one: row i of the whole is a row of one of them."""

    def __init__(self, parts: Sequence[FileRows]) -> None:
        import numpy as np

        self.parts = tuple(parts)
        self.dtype = parts[0].dtype
        self.shape = (sum(len(p) for p in parts), *parts[0].shape[1:])
        self._ends = np.cumsum([len(p) for p in parts])

    def take(self, first: np.ndarray, out: np.ndarray) -> None:
        """As FileRows.take; rows of one place may go over the end of a file."""
        import numpy as np

        size = out.shape[1]
        which = np.searchsorted(self._ends, first, side="right")
        last = np.searchsorted(self._ends, first + max(size - 1, 0), side="right")
        for part in np.unique(which[which == last]):
            chosen = np.flatnonzero((which == part) & (last == part))
            piece = np.empty((len(chosen), *out.shape[1:]), out.dtype)
            self.parts[part].take(first[chosen] - self._begin(part), piece)
            out[chosen] = piece
        for at in np.flatnonzero(which != last):
            self._over(int(first[at]), out[at])

    def _begin(self, part: int) -> int:
        return int(self._ends[part]) - len(self.parts[part])

    def _over(self, first: int, target: np.ndarray) -> None:
        """Consecutive rows from `first` on, from as many files as they take."""
        import numpy as np

        done = 0
        while done < len(target):
            part = int(np.searchsorted(self._ends, first + done, side="right"))
            start = first + done - self._begin(part)
            n = min(len(target) - done, len(self.parts[part]) - start)
            target[done : done + n] = self.parts[part].rows(slice(start, start + n))
            done += n


def rows_of(array: Any, indices: Any) -> np.ndarray:
    """Rows of an array in memory or in files."""
    found: np.ndarray = array.rows(indices) if hasattr(array, "rows") else array[indices]
    return found


def runs_of(array: Any, first: np.ndarray, size: int) -> np.ndarray:
    """(K, size, *row): `size` rows from each place, of an array in memory or in files."""
    import numpy as np

    if hasattr(array, "take") and hasattr(array, "rows"):
        out = np.empty((len(first), size, *array.shape[1:]), array.dtype)
        array.take(first, out)
        return out
    found: np.ndarray = array[first[:, None] + np.arange(size)]
    return found


def _state(found: os.stat_result) -> tuple[int, int]:
    return found.st_size, found.st_mtime_ns


def lost(path: Path, why: str) -> Problem:
    """E-DATA-LOST of a file that is not what it was."""
    return problem(
        "E-DATA-LOST",
        f"{path} is not what it was when the run began: {why}",
        hint="put the file back as it was, then go on with --resume latest",
        path=str(path),
    )
