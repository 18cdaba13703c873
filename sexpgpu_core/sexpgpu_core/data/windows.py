"""A stream to a table of windows, floor((T - n) / stride) + 1 from each range of a split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..experiment.declarations import Windows
from . import order, split

if TYPE_CHECKING:
    import numpy as np


def documented(windows: Windows | None) -> bool:
    """Whether windows stay within documents."""
    return windows is not None and (windows.pack or is_set(windows.documents))


def is_set(value: Any) -> bool:
    """Whether an option is set; nil is not."""
    return value is not None and value is not False


def stride(windows: Windows) -> int:
    return windows.stride or windows.size


def count(length: int, windows: Windows) -> int:
    """Windows in `length` tokens; with `:shift` as many as fit wherever the cut begins."""
    step = stride(windows)
    room = length - windows.size - (step - 1 if windows.shift else 0)
    return room // step + 1 if room >= 0 else 0


def total(parts: split.Ranges, windows: Windows) -> int:
    return sum(count(end - start, windows) for start, end in parts)


def starts(parts: split.Ranges, windows: Windows, index: np.ndarray, offset: int = 0) -> np.ndarray:
    """Offsets in the stream (i64) of a stage's windows `index`."""
    counts = [count(end - start, windows) for start, end in parts]
    first = [begin for begin, _ in parts]
    return _place(counts, first, index, stride(windows)) + offset


def anywhere(
    parts: split.Ranges, windows: Windows, keys: tuple[int, ...], positions: np.ndarray
) -> np.ndarray:
    """Offsets drawn with replacement from all at which a whole window fits."""
    rooms = [max(0, end - start - windows.size + 1) for start, end in parts]
    drawn = order.draw(sum(rooms), keys, positions)
    return _place(rooms, [begin for begin, _ in parts], drawn, 1)


def _place(counts: list[int], first: list[int], index: np.ndarray, step: int) -> np.ndarray:
    import numpy as np

    if len(counts) == 1:
        return first[0] + index * step
    ends = np.cumsum(counts)
    which = np.searchsorted(ends, index, side="right")
    inside = index - (ends - np.array(counts))[which]
    offsets: np.ndarray = np.array(first)[which] + inside * step
    return offsets
