"""Fused kernels of a plan to work: code units from the shared emitter, argument blocks."""

from __future__ import annotations

import functools
import math
from pathlib import Path

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Kernel, KernelCall

from .compilation import ModuleText
from .host import host
from .loader import CodeUnit, unit_key
from .native.unit import files_digest
from .work import Places, Work, bits

OPERATION = 0.12e-9
"""Seconds of one expression on one element, about; see COST of the emitter for dear ones."""
BYTE = 0.06e-9
"""Seconds to move a byte, about."""
ROW = 6e-9

_units: dict[str, CodeUnit] = {}


def kernel_unit(kernel: Kernel) -> CodeUnit:
    """How the kernel's code is made; the same object for the same structure."""
    key = kernel.key()
    unit = _units.get(key)
    if unit is None:
        name = "k" + key
        unit = CodeUnit(unit_key(_emitter(), key), (name,), lambda: _text(kernel, name))
        _units[key] = unit
    return unit


@functools.cache
def _emitter() -> str:
    """The emitter's own text and its settings."""
    from sexpgpu_core.kernels import kernel as module

    folder = str(Path(module.__file__).parent)
    return f"{files_digest(folder)} {host().width} {host().fma}"


def _text(kernel: Kernel, name: str) -> ModuleText:
    """In final form."""
    from sexpgpu_core.kernels.emit import emit
    from sexpgpu_core.kernels.target import Target

    return ModuleText(emit(kernel, name, Target(host().width, host().fma)), name)


def kernel_work(call: KernelCall, places: Places, number: int) -> Work:
    """Argument block: operands, outer sizes, five words an access, scalars, error pair."""
    kernel = call.kernel
    words = [places.address(s) for s in call.operands]
    words += call.outer
    for place in call.places:
        words += place
    pokes = []
    for value, dtype in zip(call.scalars, kernel.scalars):
        if isinstance(value, str):
            pokes.append((len(words), value, dtype))
            value = 0
        words.append(bits(value, dtype))
    error = len(words)
    words.append(0)
    unit = kernel_unit(kernel)
    rows = math.prod(call.outer)
    cells = rows if not kernel.folded else call.outer[0] * -(-rows_folded(call) // kernel.cell)
    spans = tuple(places.span(s, o.written) for s, o in zip(call.operands, kernel.operands))
    return Work(
        unit,
        unit.names[0],
        words,
        cells,
        _seconds(kernel) * (rows / cells if cells else 0),
        spans,
        error=error,
        pokes=tuple(pokes),
        call=number,
        commit=call.commit,
    )


def rows_folded(call: KernelCall) -> int:
    return call.outer[1] * call.outer[2]


def guarded(kernel: Kernel) -> bool:
    """Whether the kernel can report an error: it gathers."""
    return any(a.index is not None for a in kernel.accesses)


def _seconds(kernel: Kernel) -> float:
    """Of one row."""
    operations = sum(_weight(e.op) for e in kernel.expressions)
    moved = sum(WIDTH[kernel.operands[a.operand].dtype] * a.inner for a in kernel.accesses)
    return ROW + kernel.inner * (operations * OPERATION + moved * BYTE)


def _weight(op: str) -> int:
    from sexpgpu_core.kernels.elements import COST

    return COST.get(op, 1)
