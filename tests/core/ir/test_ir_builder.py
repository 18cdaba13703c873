"""Builders end graphs that grow without bound."""

from __future__ import annotations

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir.builder import Builder
from sexpgpu_core.ir.ops import OPERATIONS


def test_a_graph_of_too_many_nodes_is_told_when_it_gets_there() -> None:
    builder = Builder(OPERATIONS, limit=5)
    value = builder("constant", value=1.0, dtype="f32", shape=())
    for _ in range(4):
        value = builder("tanh", value)
    with pytest.raises(Problem) as raised:
        builder("tanh", value)
    assert raised.value.diagnostic.code == "E-LIMIT-NODES"
    assert len(builder.graph.nodes) == 5
