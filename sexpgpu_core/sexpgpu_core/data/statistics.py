"""A number of a stage's own data, in f64 over all its examples: what `(stage-stat ...)` is (R49).

Its type and name follow from headers; examples are read when the value is asked for.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..diagnostics import nearest, problem
from ..experiment.declarations import LoaderDeclaration
from ..ir.types import INTEGERS, Type, numpy_dtype
from ..records import NamedTuple
from .loader import Loader

if TYPE_CHECKING:
    import numpy as np


class Asked(NamedTuple):
    """Which number. `number`: of `count-by`, how many values there are; `axes`: what is reduced
    over, 0 that of the examples; None: all."""

    stage: str
    field: str
    kind: str
    number: int | None = None
    axes: tuple[int, ...] | None = None


class Statistic(NamedTuple):
    """`name` holds a hash of the data and of what is asked; `read` reads and computes
    it in a dtype."""

    type: Type
    name: str
    read: Any
    facts: dict[str, Any]


def statistic(
    base: str | Path,
    sources: Iterable[Any],
    tokenizers: Any,
    declared: LoaderDeclaration,
    what: tuple[Any, ...],
    host: Any = None,
) -> Statistic:
    """What is known of a number before data is read; `what`: as Asked has it. `host`: calls the
    functions of `map`, whose fields have no number, since no name says what they do. Raises
    E-FIELD, E-LOADER-STAGE, E-OPTION-VALUE and what headers say."""
    loader, asked = Loader(declared, base, 0, sources, host, tokenizers=tokenizers), Asked(*what)
    type = _field(loader, asked)
    shape = type.shape if declared.whole else (loader.examples(asked.stage) or 0, *type.shape)
    axes = _axes(asked, len(shape))
    kept = tuple(n for i, n in enumerate(shape) if i not in axes)
    if asked.kind == "count-by":
        if type.dtype not in (*INTEGERS, "bool"):
            raise problem("E-OPTION-VALUE", f":count-by counts integers; {asked.field} is {type}")
        kept = (asked.number or 0,)
    print_ = loader.fingerprint(asked.stage)
    stage = declared.stages[asked.stage]
    read = (stage.split, stage.windows or declared.windows, stage.mask)
    by = stage.split_by or declared.split_by
    said = repr((print_, read, by, declared.fields, tuple(asked)))
    facts = {
        **loader.identity(),
        "loader": f"{declared.name}:{asked.stage}",
        "source": f"stage-stat {asked.field} {asked.kind}",
        "fingerprint": print_,
    }
    name = f"stat-{hashlib.sha256(said.encode()).hexdigest()}"
    return Statistic(Type("f32", kept), name, partial(_value, loader, asked, axes), facts)


def _field(loader: Loader, asked: Asked) -> Type:
    fields = loader.fields(asked.stage)
    if asked.field not in fields:
        near = nearest(asked.field, fields)
        hint = f"did you mean {near}?" if near else "fields: " + " ".join(fields)
        raise problem("E-FIELD", f"stage-stat: no field {asked.field}", hint=hint)
    declared = loader.declaration
    if asked.field in dict(declared.stages[asked.stage].maps or declared.maps):
        raise problem("E-OPTION-VALUE", f"stage-stat: {asked.field} is made by map")
    if loader.examples(asked.stage) is None and loader.unscanned(asked.stage) is None:
        raise problem("E-OPTION-VALUE", f"stage-stat: {loader.name} has no end")
    return fields[asked.field]


def _axes(asked: Asked, rank: int) -> tuple[int, ...]:
    if asked.axes is None:
        return tuple(range(rank))
    axes = tuple(sorted({a % rank if -rank <= a < rank else -1 for a in asked.axes}))
    if not axes or axes[0] != 0:
        raise problem(
            "E-OPTION-VALUE",
            f":axis {list(asked.axes)} of stage-stat: axes of {asked.field} are 0 to {rank - 1}",
            hint="axis 0 is that of the examples, over which it is always taken: :axis 0",
        )
    return axes


def _value(loader: Loader, asked: Asked, axes: tuple[int, ...], dtype: str) -> np.ndarray:
    import numpy as np

    pieces = _pieces(loader, asked)
    found = _counts(pieces, asked) if asked.kind == "count-by" else _moments(pieces, asked, axes)
    return np.asarray(found, numpy_dtype(dtype), order="C")


def _pieces(loader: Loader, asked: Asked) -> Iterator[np.ndarray]:
    """The field, some examples at a time; of data that is one thing, the rows of its mask."""
    masked = loader.declaration.stages[asked.stage].mask is not None
    names = (asked.field, *(("mask",) if masked else ()))
    for batch in loader.evaluation(asked.stage, None, names):
        array = batch[asked.field]
        mask = batch.get("mask")
        fits = mask is not None and array.shape[: mask.ndim] == mask.shape
        yield array[mask > 0] if fits and mask is not None else array


def _counts(pieces: Iterator[np.ndarray], asked: Asked) -> np.ndarray:
    import numpy as np

    n = asked.number or 0
    total = np.zeros(n, np.int64)
    for piece in pieces:
        values = piece.astype(np.int64).ravel()
        if values.size and (values.min() < 0 or values.max() >= n):
            raise problem(
                "E-DATA-FORMAT",
                f"stage-stat: {asked.field} has values from {values.min()} to {values.max()}, "
                f"outside of :count-by {n}",
            )
        total += np.bincount(values, minlength=n)
    return total


def _moments(pieces: Iterator[np.ndarray], asked: Asked, axes: tuple[int, ...]) -> np.ndarray:
    """Mean and deviation by merging those of pieces; the least and the greatest."""
    import numpy as np

    fold = {"min": np.minimum, "max": np.maximum}.get(asked.kind)
    found: Any = None
    count, mean, square = 0, 0.0, 0.0
    for piece in pieces:
        if not piece.size:
            continue
        x = piece.astype(np.float64)
        if fold is not None:
            here = getattr(x, asked.kind)(axis=axes)
            found = here if found is None else fold(found, here)
            continue
        n = math.prod(x.shape[a] for a in axes)
        middle = x.mean(axis=axes)
        apart = np.square(x - x.mean(axis=axes, keepdims=True)).sum(axis=axes)
        step = middle - mean
        square = square + apart + np.square(step) * (count * n / (count + n))
        mean = mean + step * (n / (count + n))
        count += n
    if fold is not None:
        return np.asarray(found)
    return np.asarray(mean if asked.kind == "mean" else np.sqrt(np.asarray(square) / max(count, 1)))
