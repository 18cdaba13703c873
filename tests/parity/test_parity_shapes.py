"""Each differentiable operation at five shapes or more: value and gradient are PyTorch's in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_cases import Case, arrays
from op_row import Row
from op_shape_cases import asked, every_shape
from op_table import BINARY, UNARY
from op_twins import TWINS, plain
from sides import DEVICES, compare, graph_of, in_torch
from test_parity_operations import LOOSE, TOLERANCE

ALL_TWINS = {
    **{name: plain(f) for kind in UNARY.values() for name, f in kind.items()},
    **{name: plain(f) for name, f in BINARY.items()},
    **TWINS,
}


class CaseRow(Row):
    """A case of the table as a row: its own values, rounded to f32."""

    def arrays(self) -> dict[str, Any]:
        found = arrays(Case(self.name, self.operands))
        narrow = lambda a: a.astype("f4") if a.dtype == np.float64 else a
        return {k: narrow(np.asarray(a)) for k, a in found.items()}


def _row(given: Case) -> Row:
    at = given.attributes
    call = lambda b, *x: b(given.operation, *x, **at)
    twin = lambda *x: ALL_TWINS[given.operation](at, *x)
    return CaseRow(given.operation, given.operands, call, twin)


def test_pytorch_says_what_every_differentiable_operation_means() -> None:
    assert sorted(set(asked()) - ALL_TWINS.keys()) == []


@pytest.mark.parametrize("given", every_shape(), ids=lambda c: c.id)
@pytest.mark.parametrize("device", DEVICES)
def test_value_and_gradient_at_a_shape_are_pytorchs(given: Case, device: str, worst: Any) -> None:
    row = _row(given)
    data = row.arrays()
    graph = graph_of(row, data)
    measured = compare(DEVICES[device](graph, data), in_torch(row, data))
    worst(f"operations at every shape, {device}", measured.worst)
    assert measured.worst < LOOSE.get(row.name, TOLERANCE), measured.errors
