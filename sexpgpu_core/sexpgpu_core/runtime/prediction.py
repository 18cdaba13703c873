"""Rows of arrays through the programs of an output, in chunks: exact, also the last short one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import problem
from ..ir.types import Type, numpy_dtype
from ..records import NamedTuple
from .fault import Explain, Fault, index
from .job import ProgramFacts
from .metrics import Accumulator, joined
from .progress import evaluate

if TYPE_CHECKING:
    import numpy as np

    from ..device import Session


REAL = "biuf"
"""Kinds of NumPy's dtypes that can be cast to ours."""


class Prediction(NamedTuple):
    """`outputs` by name; `metrics` that the output names, over all rows."""

    outputs: dict[str, np.ndarray]
    metrics: dict[str, float]
    rows: int


def fitted(name: str, given: Any, wanted: Type, rows: int | None) -> np.ndarray:
    """An array as a program takes it: `wanted` has one row, `rows` None the shape as it is.

    Integers and floats are cast where no value changes or, between floats, rounds. E-OUTPUT.
    """
    import numpy as np

    array = np.asarray(given)
    shape = wanted.shape if rows is None else (rows, *wanted.shape[1:])
    dtype = numpy_dtype(wanted.dtype)
    if array.shape == shape and array.dtype == dtype:
        return np.asarray(array, order="C")
    if array.shape == shape and (array.dtype.kind in REAL or _is_float(array.dtype)):
        cast = array.astype(dtype)
        if (_is_float(array.dtype) and _is_float(dtype)) or (cast == array).all():
            return np.asarray(cast, order="C")
    words = ["rows", *shape[1:]] if rows is not None else shape
    raise problem(
        "E-OUTPUT",
        f"{name} is {array.dtype} {_text(array.shape)}, wants {wanted.dtype} {_text(words)}",
        hint=_fitting(array, shape, dtype, rows is not None),
        field=name,
    )


def _fitting(array: Any, shape: tuple[int, ...], dtype: Any, rows: bool) -> str:
    """What to do about an array that does not fit."""
    if rows and array.shape == shape[1:]:
        return "of one row alone, put the axis of rows in front: x[None]"
    if array.ndim != len(shape):
        return f"it has {array.ndim} axes, not {len(shape)}"
    for axis, (have, want) in enumerate(zip(array.shape, shape)):
        if have != want:
            return f"axis {axis} is {have}, not {want}"
    if array.dtype.kind not in REAL:
        return "real numbers"
    if array.dtype.kind == "f":
        return f"what is not whole would change: if it is meant, x.round().astype('{dtype.name}')"
    return f"it has values that {dtype.name} has not: integers fit where none changes"


def _text(sizes: Iterable[Any]) -> str:
    return f"({' '.join(map(str, sizes))})"


def _is_float(dtype: Any) -> bool:
    return bool(dtype.kind == "f" or dtype.name == "bfloat16")


class Chunk(NamedTuple):
    """One launch: the rows from `position` on; of one place of a sequence, its place."""

    facts: ProgramFacts
    position: int
    arrays: Mapping[str, np.ndarray]


def run_output(
    session: Session, chunks: Iterable[Chunk], axes: Mapping[str, int | None], explain: Explain
) -> Prediction:
    """`axes`: result -> its axis of rows; what has none is every chunk's, and the first's is given.

    Raises E-RUN-INDEX where an index is out of range."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in axes}
    total = Accumulator(())
    rows = 0
    for chunk in chunks:
        results = launched(session, chunk, explain)
        total = total if rows else Accumulator(chunk.facts.metrics)
        total.add(results, chunk.facts.rows)
        rows += chunk.facts.rows
        for name, pieces in found.items():
            if axes[name] is not None or not pieces:
                pieces.append(results[f"output:{name}"])
    outputs = {name: joined(pieces, axes[name]) for name, pieces in found.items()}
    return Prediction(outputs, total.values(), rows)


def launched(session: Session, chunk: Chunk, explain: Explain) -> dict[str, Any]:
    """The results of one launch; E-RUN-INDEX."""
    facts = chunk.facts
    scalars = evaluate(facts.scalars, dict.fromkeys(("position", "place"), chunk.position))
    outcome = session.program(facts.program).launch(chunk.arrays, scalars).outcome()
    if outcome.error is not None:
        fault = Fault("index", facts.program, 0, chunk.arrays, scalars, outcome)
        raise index(fault, explain(fault))
    return dict(outcome.results)
