"""Graphs by the hundred on the emulated CUDA device, every buffer poisoned at its life's end.

python -P tests/graphs/many_cuda.py [--count N] [--seed S]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))  # `python -P` leaves it out
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
REFUSED = "ctc-alignment"
"""docs/devices.md says what it does not take."""


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
            told = refused.diagnostic
            if told.code == "E-DEVICE-FAULT":
                return [told.message]
            if REFUSED not in told.message:
                raise
            share.known, share.all = share.known + 1, share.all + 1
            return []
        self.ran += 1
        policy = apply_precision(graph, OPERATIONS, precision)
        wanted = error_bounds(policy, {**inputs, "step": np.int32(STEP)})
        pairs = ((n, outside(array, wanted[n], share)) for n, array in found.items())
        return [f"{name}: {told}" for name, told in pairs if told]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args()
    compared = Compared()
    try:
        law(given.count, given.seed, compare=compared)()
    except AssertionError as wrong:
        sys.stdout.write(f"{wrong}\n")
        return 1
    sys.stdout.write(f"{compared.ran} of {compared.all} graphs: cuda-emulated is reference\n")
    return 0 if compared.ran >= 0.95 * compared.all else 1


if __name__ == "__main__":
    sys.exit(main())
