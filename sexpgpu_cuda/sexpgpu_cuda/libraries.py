"""Convolutions (cuDNN): calls whose stand-ins on the CPU are the references."""

from __future__ import annotations

from collections.abc import Callable

from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.kernel import NodeCall

from .dnn import SEEN, convolution_graph
from .frame import Frame
from .memory import Arena
from .plain_convolutions import plain_convolution
from .planned import Planned
from .providers import taken
from .work import LibraryCall


def referenced(frame: Frame) -> None:
    call = frame.call
    sides = [frame.side(v) for v in (*call.inputs, *call.outputs)]
    given = len(call.inputs)
    spans = tuple(s.span(k >= given) for k, s in enumerate(sides))
    addresses = tuple(s.address for s in sides)
    name = call.node.operation
    work = taken(frame, "cuDNN", lambda: Planned(convolution_graph(call), addresses))
    if work is None:
        plain_convolution(frame)
        return
    frame.records.append(
        LibraryCall(name, _stand_in(call), addresses, spans, work, frame.number, frame.commit)
    )


def _stand_in(call: NodeCall) -> Callable[..., None]:
    def run(arena: Arena, *addresses: int) -> None:
        from sexpgpu_core.ir.ops import OPERATIONS

        views = (*call.inputs, *call.outputs)
        arrays = [
            arena.strided(at, numpy_dtype(v.dtype), v.shape, v.strides)
            for at, v in zip(addresses, views)
        ]
        operands = tuple(a.copy() for a in arrays[: len(call.inputs)])
        row = OPERATIONS[call.node.operation]
        found = row.reference(operands, dict(call.node.attributes), call.node.types)
        for array, value in zip(arrays[len(call.inputs) :], found):
            array[...] = value

    return run


ROWS: dict[str, Callable[[Frame], None]] = dict.fromkeys(SEEN, referenced)
