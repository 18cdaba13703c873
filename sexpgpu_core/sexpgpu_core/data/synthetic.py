"""`(synthetic (lambda (i) ...) :examples n)`: a table whose examples a Lisp function makes.

The function is given an example's number and gives a property list of its fields, or a value, which
is the field x. It is pure; `random` in it is keyed by the example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from ..experiment.protocols import Header, Options
from .mapping import type_of

if TYPE_CHECKING:
    import numpy as np


def header(options: Options) -> Header:
    """Fields of the first example."""
    found = {n: type_of(n, v) for n, v in _made(options, [0])[0].items()}
    count = int(options["examples"])
    fields = {name: (type.dtype, type.shape) for name, type in found.items()}
    arrays = {name: (dtype, (count, *shape)) for name, (dtype, shape) in fields.items()}
    return {"count": count, "fields": fields, "arrays": arrays}


def _made(options: Options, examples: Sequence[int]) -> list[dict[str, Any]]:
    """Fields of some examples."""
    import hashlib

    (function,) = options["arguments"]
    seeds = [
        int.from_bytes(hashlib.sha256(f"synthetic {i}".encode()).digest()[:8], "little")
        for i in examples
    ]
    values = options["host"].map(function, list(examples), seeds)
    return [value if isinstance(value, dict) else {"x": value} for value in values]


class Synthetic:
    """Examples made when they are read."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._header = header(options)

    def __len__(self) -> int:
        return int(self._header["count"])

    def read(self, indices: Any, out: Mapping[str, np.ndarray]) -> None:
        import numpy as np

        whole = isinstance(indices, slice)
        found = np.arange(*indices.indices(len(self))) if whole else np.asarray(indices)
        wanted = found.tolist()
        for at, made in enumerate(_made(self._options, wanted)):
            for name, target in out.items():
                if name not in made or type_of(name, made[name]).shape != target.shape[1:]:
                    raise problem(
                        "E-DATA-TYPE",
                        f"(synthetic ...): {name} of example {wanted[at]:,} is not of the shape "
                        f"that the first has",
                        field=name,
                    )
                target[at] = made[name]
