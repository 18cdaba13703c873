"""Each operation and its gradient agree with PyTorch in f64, on both devices."""

from __future__ import annotations

from typing import Any

import pytest
from op_row import Row
from op_table import ALL
from sides import DEVICES, compare, graph_of, in_torch

TOLERANCE = 1e-5
"""Of f32 against f64, relative to the greatest element of each result."""
LOOSE = {
    "cumprod": 1e-4,  # its gradient divides
    "erfc": 1e-4,
    "matmul-gelu": 5e-5,  # where the slope is 0, near -0.75, it is a difference
}


@pytest.mark.parametrize("row", ALL, ids=lambda r: r.id)
@pytest.mark.parametrize("device", DEVICES)
def test_value_and_gradient_are_pytorchs(row: Row, device: str, worst: Any) -> None:
    arrays = row.arrays()
    graph = graph_of(row, arrays)
    ours = DEVICES[device](graph, arrays)
    measured = compare(ours, in_torch(row, arrays))
    worst(f"operations, {device}", measured.worst)
    assert measured.worst < LOOSE.get(row.name, TOLERANCE), measured.errors
