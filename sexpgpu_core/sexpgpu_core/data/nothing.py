"""`(none)`: a table without fields, for data that is drawn in `prepare`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..experiment.protocols import Header, Options

if TYPE_CHECKING:
    import numpy as np


def header(options: Options) -> Header:
    """No fields; as many examples as `:examples` says, else not bounded."""
    return {"count": options.get("examples"), "fields": {}}


class Nothing:
    """Reads nothing."""

    def __init__(self, options: Options) -> None:
        self._count = options.get("examples") or 0

    def __len__(self) -> int:
        return int(self._count)

    def read(self, indices: Sequence[int], out: Mapping[str, np.ndarray]) -> None:
        return None
