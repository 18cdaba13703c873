"""Lines and calls of a scope, and what is said of a scope that there is not."""

from __future__ import annotations

import pytest

from sexpgpu_cli.scoped import of_scope
from sexpgpu_core.diagnostics import Problem

GRAPH = """(graph
  (%0 (f32) (input))
  (%1 (f32) (add %0 %0))  ; network/linear x.lisp:3:4, network/linear-2 x.lisp:4:4 grad
  (%2 (f32) (add %1 %0))  ; x.lisp:5:1
  (%3 (f32) (add %1 %0))  ; network
  (results))
"""
CALLS = """// 0: x.lisp:1:1
rows 1:
  a = 1
// 1 commit: network/linear (backward) x.lisp:3:4; network x.lisp:5:4
rows 2:
  b = 1
"""


@pytest.mark.parametrize(
    ("glob", "nodes"), [("network", "13"), ("network/linear", "1"), ("*-2", "1"), ("net*", "13")]
)
def test_lines_of_a_graph_are_those_of_a_scope_and_below(glob: str, nodes: str) -> None:
    lines = of_scope(GRAPH, glob, lowered=False).splitlines()
    assert "".join(line.split()[0].removeprefix("(%") for line in lines) == nodes


def test_a_call_is_whole() -> None:
    assert of_scope(CALLS, "network/*", lowered=True) == CALLS[CALLS.index("// 1") :]


def test_a_scope_that_is_not_there_says_the_nearest() -> None:
    with pytest.raises(Problem) as raised:
        of_scope(GRAPH, "network/linea", lowered=False)
    assert raised.value.diagnostic.hint == "did you mean network/linear?"
