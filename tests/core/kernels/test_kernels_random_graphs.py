"""Law: whatever graph it is, its kernels give what the reference interpreter gives."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from run_schedule import library, run

from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.passes.optimize import optimize

sys.path.insert(0, str(Path(__file__).parents[2] / "graphs"))
from both_devices import STEP, Share, inputs_of, outside
from error_bounds import error_bounds
from grown import graphs


@settings(
    max_examples=60,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(graphs(loops=False))
def test_random_graphs_give_what_the_interpreter_gives(graph: Graph) -> None:
    inputs = {**inputs_of(graph, 1), "step": np.int32(STEP)}
    small, _ = optimize(graph, OPERATIONS, library)
    got, _ = run(small, inputs)
    other, _ = run(small, inputs, width=4, cut=True)
    want = error_bounds(graph, inputs)
    for name, array in got.items():
        assert array.tobytes() == other[name].tobytes()
        assert outside(array, want[name], Share()) == ""
