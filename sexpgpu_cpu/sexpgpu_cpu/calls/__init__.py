"""Nodes that are not fused, to work: a row an operation. What is not here the device refuses."""

from __future__ import annotations

from collections.abc import Callable

from sexpgpu_core.diagnostics import problem
from sexpgpu_core.kernels.kernel import NodeCall

from ..work import Places, Work
from . import convolution, indexing, linear, matmul, moves, pooling, sequences
from .frame import Frame

LIBRARY: dict[str, Callable[[Frame], None]] = {
    **matmul.ROWS,
    **indexing.ROWS,
    **sequences.ROWS,
    **moves.ROWS,
    **convolution.ROWS,
    **pooling.ROWS,
    **linear.ROWS,
}


def node_works(call: NodeCall, places: Places, number: int) -> list[Work]:
    """The work of one node. Raises E-DEVICE-OPERATION for a node that the device does not take."""
    lower = LIBRARY.get(call.node.operation)
    if lower is None:
        raise problem(
            "E-DEVICE-OPERATION",
            f"the cpu device has no {call.node.operation}",
            operation=call.node.operation,
            device="cpu",
        )
    frame = Frame(call, places, number)
    lower(frame)
    return frame.done()
