"""What differs between the arrays of two checkpoints, name by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..records import NamedTuple
from . import tensors
from .folder import Saved, file_of

if TYPE_CHECKING:
    import numpy as np


class Change(NamedTuple):
    """`kind`: added removed reshaped changed."""

    name: str  # persistent: "parameter:gpt/wte"
    kind: str
    text: str


def differences(a: Saved, b: Saved) -> list[Change]:
    """Every array that is not bit for bit the same, in order of name. Equal files are not read."""
    same = _hashes(a).items() & _hashes(b).items()
    return compared(_arrays(a, same), _arrays(b, same))


def compared(left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> list[Change]:
    """The same of arrays by persistent name."""
    found = [_change(name, left.get(name), right.get(name)) for name in sorted({*left, *right})]
    return [change for change in found if change is not None]


def _hashes(saved: Saved) -> dict[str, str]:
    return {file["path"]: file["sha256"] for file in saved.document["files"]}


def _arrays(saved: Saved, same: set[tuple[str, str]]) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for file, sha in _hashes(saved).items():
        if (file, sha) not in same:
            read = tensors.load(saved.path / file)
            found.update({file_of(file, name): array for name, array in read.items()})
    return found


def _change(name: str, a: np.ndarray | None, b: np.ndarray | None) -> Change | None:
    if a is None or b is None:
        kind = "added" if a is None else "removed"
        return Change(name, kind, f"{name} {kind}")
    if a.dtype != b.dtype or a.shape != b.shape:
        told = f"{name}: {_type(a)} to {_type(b)}"
        return Change(name, "reshaped", told)
    if a.tobytes() == b.tobytes():
        return None
    return Change(name, "changed", f"{name}: {_distance(a, b)}")


def _type(array: np.ndarray) -> str:
    return f"({' '.join([tensors.dtype_of(array), *map(str, array.shape)])})"


def _distance(a: np.ndarray, b: np.ndarray) -> str:
    """How many elements differ, and the greatest difference among the finite ones."""
    import numpy as np

    bits = [np.ascontiguousarray(x).reshape(-1).view(np.uint8).reshape(x.size, -1) for x in (a, b)]
    count = int((bits[0] != bits[1]).any(axis=1).sum())
    with np.errstate(all="ignore"):
        apart = np.abs(a.astype(np.float64) - b.astype(np.float64)).reshape(-1)
    finite = apart[np.isfinite(apart)]
    most = f", by at most {finite.max():.3g}" if finite.size else ""
    return f"{count} of {a.size} elements differ{most}"
