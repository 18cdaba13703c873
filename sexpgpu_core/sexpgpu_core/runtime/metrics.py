"""Results of programs to reported numbers: sums and weights added in f64, finished once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .job import MetricSpec

_COMBINE = {"max": max, "min": min}


def scalar(value: Any) -> float:
    """A result of one element as a Python float, exactly."""
    item = getattr(value, "item", None)
    return float(value if item is None else item())


def joined(pieces: Sequence[Any], axis: int | None) -> Any:
    """Arrays of launches one after another on the axis of rows; None: there is one."""
    import numpy as np

    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces, axis or 0)


class Accumulator:
    """One program's metrics over the batches of a pass, or over one step."""

    def __init__(self, specs: Iterable[MetricSpec]) -> None:
        self._specs = tuple(specs)
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    def add(self, results: Mapping[str, Any], rows: int = 1) -> None:
        """One batch's results: `metric:NAME:sum` and `:weight`, or `metric:NAME:value`.

        A mean that comes as a value alone is weighed by the batch's rows (W-METRIC-BATCHWISE).
        """
        for spec in self._specs:
            if spec.kind in _COMBINE:
                self._combine(spec, scalar(results[_names(spec.name)[2]]))
            else:
                self._add(spec, results, rows)

    def _combine(self, spec: MetricSpec, value: float) -> None:
        before = self._sums.get(spec.name, value)
        # max and min of Python would drop a NaN that comes second
        unknown = math.isnan(value) or math.isnan(before)
        self._sums[spec.name] = math.nan if unknown else _COMBINE[spec.kind](before, value)

    def _add(self, spec: MetricSpec, results: Mapping[str, Any], rows: int) -> None:
        name = spec.name
        value, weight = _pair(spec, results, rows)
        self._sums[name] = self._sums.get(name, 0.0) + value
        self._weights[name] = self._weights.get(name, 0.0) + weight

    def values(self) -> dict[str, float]:
        """What is reported, by name as written. A mean over no weight at all is NaN."""
        return {
            spec.name: _finished(spec, self._sums[spec.name], self._weights.get(spec.name, 1.0))
            for spec in self._specs
            if spec.name in self._sums
        }


def of_one(
    specs: Iterable[MetricSpec], results: Mapping[str, Any], rows: int = 1
) -> dict[str, float]:
    """What an Accumulator reports of one batch's results, without one."""
    return {spec.name: _finished(spec, *_pair(spec, results, rows)) for spec in specs}


def _pair(spec: MetricSpec, results: Mapping[str, Any], rows: int) -> tuple[float, float]:
    """Sum and weight; of a maximum or a minimum the value."""
    summed, weighed, alone = _names(spec.name)
    total = results.get(summed)
    if total is not None:
        return scalar(total), scalar(results.get(weighed, 1.0))
    weight = float(rows) if spec.kind == "mean" else 1.0
    return scalar(results[alone]) * weight, weight


@lru_cache(maxsize=256)
def _names(metric: str) -> tuple[str, str, str]:
    """The results of a metric: its sum and weight, or its value."""
    return f"metric:{metric}:sum", f"metric:{metric}:weight", f"metric:{metric}:value"


def _finished(spec: MetricSpec, value: float, weight: float) -> float:
    if spec.kind == "mean":
        value = value / weight if weight else math.nan
    return value if spec.finish is None else float(spec.finish(value))
