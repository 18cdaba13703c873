"""Each differentiable operation at five shapes or more: value and gradient are PyTorch's in f64."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "core" / "ir"))
from op_cases import Case, arrays
from op_row import Row
from op_shape_cases import asked, every_shape

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no PyTorch")
ELSEWHERE = {"cholesky", "solve", "solve-triangular", "inverse", "det", "logdet", "fft", "ctc-loss"}
"""Composed operations: `test_parity_operations` calls them by their builtins."""


def twins() -> dict[str, Any]:
    """PyTorch's function of each operation: (attributes, *tensors) -> tensor."""
    from op_table import BINARY, UNARY
    from op_twins import TWINS, plain

    plainly = {name: plain(f) for kind in UNARY.values() for name, f in kind.items()}
    return {**plainly, **{name: plain(f) for name, f in BINARY.items()}, **TWINS}


class CaseRow(Row):
    """A case of the table as a row: its own values, rounded to f32."""

    def arrays(self) -> dict[str, Any]:
        found = arrays(Case(self.name, self.operands))
        narrow = lambda a: a.astype("f4") if a.dtype == np.float64 else a
        return {k: narrow(np.asarray(a)) for k, a in found.items()}


def row_of(given: Case) -> Row:
    at = given.attributes
    call = lambda b, *x: b(given.operation, *x, **at)
    twin = lambda *x: twins()[given.operation](at, *x)
    return CaseRow(given.operation, given.operands, call, twin)


def test_pytorch_says_what_every_differentiable_operation_means() -> None:
    assert sorted(set(asked()) - twins().keys() - ELSEWHERE) == []


MEASURED = [given for given in every_shape() if given.operation not in ELSEWHERE]


@pytest.mark.parametrize("given", MEASURED, ids=lambda c: c.id)
@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_value_and_gradient_at_a_shape_are_pytorchs(given: Case, device: str, worst: Any) -> None:
    from sides import DEVICES, compare, graph_of, in_torch
    from test_parity_operations import LOOSE, TOLERANCE

    row = row_of(given)
    data = row.arrays()
    graph = graph_of(row, data)
    measured = compare(DEVICES[device](graph, data), in_torch(row, data))
    worst(f"operations at every shape, {device}", measured.worst)
    assert measured.worst < LOOSE.get(row.name, TOLERANCE), measured.errors
