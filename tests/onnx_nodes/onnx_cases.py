"""The node tests that ship in the `onnx` wheel, as models with data: `cases()`."""

from __future__ import annotations

import functools
import warnings
from typing import Any, NamedTuple

import numpy as np

SKIPPED_DOMAINS = ("ai.onnx.preview.training",)


class Case(NamedTuple):
    name: str
    model: Any  # onnx.ModelProto
    inputs: tuple[Any, ...]  # arrays, lists of arrays, or None
    outputs: tuple[Any, ...]
    rtol: float
    atol: float

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n.op_type for n in self.model.graph.node))


@functools.cache
def cases() -> tuple[Case, ...]:
    """Every test with its first data set, in the order of their names."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their own arithmetic
        found = collect_testcases(None)
    made = []
    for case in found:
        inputs, outputs = (tuple(map(_array, side)) for side in case.data_sets[0])
        made.append(Case(case.name, case.model, inputs, outputs, case.rtol, case.atol))
    return tuple(sorted(made, key=lambda c: c.name))


def _array(value: Any) -> Any:
    """Tensors and numbers as arrays; what is neither as it is."""
    from onnx import TensorProto
    from onnx.numpy_helper import to_array

    if isinstance(value, TensorProto):
        return to_array(value)
    return np.asarray(value) if isinstance(value, (np.generic, int, float)) else value
