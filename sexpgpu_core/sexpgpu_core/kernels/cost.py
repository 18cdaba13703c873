"""Bytes and operations of a call, roughly, for `explain`."""

from __future__ import annotations

import math

from ..ir.types import WIDTH
from .elements import COST
from .kernel import KernelCall, Place
from .levels import Levels


def kernel_cost(call: KernelCall) -> tuple[int, int, int]:
    """(operations, bytes read, bytes written). A broadcast operand counts once."""
    kernel, levels = call.kernel, Levels(call.kernel)
    rows = math.prod(call.outer)
    operations = 0
    for e, x in enumerate(kernel.expressions):
        if x.op not in ("load", "literal", "uniform", "outer-index", "inner-index"):
            width = 1 if levels.uniform[e] and not x.op.startswith("reduce-") else kernel.inner
            operations += rows * width * COST.get(x.op, 1)
    read = written = 0
    for access, place in zip(kernel.accesses, call.places):
        operand = kernel.operands[access.operand]
        bytes_ = _elements(call, place, bool(access.inner), access.index is not None)
        if operand.written:
            written += bytes_ * WIDTH[operand.dtype]
        else:
            read += bytes_ * WIDTH[operand.dtype]
    return operations, read, written


def _elements(call: KernelCall, place: Place, runs: bool, indexed: bool) -> int:
    found = call.kernel.inner if runs else 1
    for size, stride in zip(call.outer, place[:3]):
        found *= size if stride or indexed else 1
    return found
