"""A sample of the graphs of `many.py` on the emulated CUDA device, races and lifetimes watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from both_devices import STEP, Share, inputs_of, launched, outside, poisoned
from error_bounds import error_bounds
from many import law

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.ir import Graph
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.passes.optimize import apply_precision

DEVICE: Any = pytest.importorskip(
    "sexpgpu_cuda.device", reason="the device is another distribution's"
)
REFUSED = ("E-DEVICE-OPERATION", "E-LOWER-WHILE")
"""docs/devices.md says what it does not take."""


@pytest.fixture(scope="module", autouse=True)
def ptx_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEXPGPU_CACHE", str(tmp_path_factory.mktemp("ptx")))
        yield


class Compared:
    """How many graphs ran, of how many."""

    def __init__(self) -> None:
        self.ran = self.all = 0

    def __call__(self, graph: Graph, precision: str, seed: int, share: Share) -> list[str]:
        inputs = inputs_of(graph, seed)
        self.all += 1
        try:
            with poisoned():
                found = launched(DEVICE.EmulatedDevice(), graph, inputs, precision, 1)
        except Problem as refused:
            if refused.diagnostic.code not in REFUSED:
                raise
            share.known, share.all = share.known + 1, share.all + 1
            return []
        self.ran += 1
        policy = apply_precision(graph, OPERATIONS, precision)
        wanted = error_bounds(policy, {**inputs, "step": np.int32(STEP)})
        pairs = ((n, outside(array, wanted[n], share)) for n, array in found.items())
        return [f"{name}: {told}" for name, told in pairs if told]


def test_on_cuda_a_graph_gives_what_it_gives_on_reference() -> None:
    compared = Compared()
    law(14, 2, compare=compared)()
    assert compared.ran * 3 >= compared.all
