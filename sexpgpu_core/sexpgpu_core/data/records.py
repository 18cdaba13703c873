"""Tables whose numbers are a record a row: in memory, or in a file of the cache that is made once.

What is made is made piece by piece, so no file takes memory by its size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from ..experiment.protocols import Header
from ..ir.types import numpy_dtype
from . import index, rows
from .columns import TEXT

if TYPE_CHECKING:
    import numpy as np

KEPT = 1 << 26
"""Bytes of records above which they stay in a file of the cache."""


def record_type(header: Header, places: Iterable[str], wide: bool) -> np.dtype[Any]:
    """The dtype of a record: the columns of numbers, then `places` of texts. `wide`: numbers that a
    header calls f32 are kept as f64, for fields that are declared so."""
    import numpy as np

    kept_as = {"f32": "f64"} if wide else {}
    numbers = [
        (n, numpy_dtype(kept_as.get(d, d)), s)
        for n, (d, s) in header["fields"].items()
        if d != TEXT
    ]
    said: Any = [*numbers, *((place, np.dtype("i8"), ()) for place in places)]
    found: np.dtype[Any] = np.dtype(said)
    return found


def kept(
    dtype: np.dtype[Any], count: int, given: Any, pieces: Callable[[], Iterable[np.ndarray]]
) -> Any:
    """`count` records: an array, or the rows of a file. `given`: what they follow from."""
    import numpy as np

    size = count * dtype.itemsize
    if size <= KEPT:
        whole, at = np.empty(count, dtype), 0
        for piece in pieces():
            whole[at : at + len(piece)] = piece
            at += len(piece)
        return whole
    path = index.place("records", given)
    if not path.is_file() or path.stat().st_size != size:
        with index.filled("records", given) as made:
            for piece in pieces():
                made.write(piece.tobytes())
    return rows.FileRows(path, dtype, count)


def put(name: str, target: np.ndarray, found: np.ndarray) -> None:
    """Numbers of a column into memory of another dtype, perhaps. E-DATA-TYPE where a finite one
    becomes infinite."""
    import numpy as np

    with np.errstate(over="ignore"):
        target[...] = found
    if target.dtype.kind != "f" or found.dtype.itemsize <= target.dtype.itemsize:
        return
    wrong = np.isinf(target) & np.isfinite(found)
    if wrong.any():
        own, wide = f"f{8 * target.dtype.itemsize}", f'(fields ({name} "{name}" :f64))'
        told = f"column {name} has {found[wrong].ravel()[0].item():g}, which {own} has not"
        raise problem(
            "E-DATA-TYPE", told, hint=f"declare a dtype that holds it: {wide}", field=name
        )


class RecordTable:
    """Rows of records. `texts` is what a kind adds."""

    def __init__(self, header: Header, records: Any) -> None:
        self._records = records
        self.arrays = {
            n: _Column(records, n) for n, (d, _) in header["fields"].items() if d != TEXT
        }

    def __len__(self) -> int:
        return len(self._records)

    def read(self, indices: Any, out: Mapping[str, np.ndarray]) -> None:
        found = rows.rows_of(self._records, indices)
        for name, target in out.items():
            put(name, target, found[name])

    def _pieces_of_text(self, text: Any, at: str, size: str, places: Sequence[int]) -> list[str]:
        """Texts where the records of some places say that they lie."""
        import numpy as np

        found = rows.rows_of(self._records, np.asarray(places, np.int64))
        ends = zip(found[at].tolist(), found[size].tolist())
        read = (text.rows(slice(begin, begin + length)).tobytes() for begin, length in ends)
        return [data.decode("utf-8", errors="replace") for data in read]


class _Column:
    """One column of the records."""

    def __init__(self, records: Any, name: str) -> None:
        self._records, self._name = records, name

    def rows(self, indices: Any) -> np.ndarray:
        found: np.ndarray = rows.rows_of(self._records, indices)[self._name]
        return found
