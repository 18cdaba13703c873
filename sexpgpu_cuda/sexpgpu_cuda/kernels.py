"""Fused kernels to launches: the layout, the code, the arguments in their order."""

from __future__ import annotations

import functools
import hashlib
import math
from pathlib import Path

from sexpgpu_core.diagnostics import Problem, problem
from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Kernel, KernelCall

from .emit import emit, extras
from .layout import INDICES, Layout, blocks, layout_of
from .work import Applied, Launch, Place, Places, Span, Unit


@functools.lru_cache(maxsize=4096)
def kernel_unit(kernel: Kernel, layout: Layout) -> Unit:
    """How the kernel's code is made; equal for one structure and layout."""
    parts = f"{emitter()} {kernel.key()} {layout!r}"
    key = hashlib.sha256(parts.encode()).hexdigest()[:32]
    name = f"k{key}"
    return Unit(key, name, lambda: emit(kernel, layout, name), _vectors(kernel, layout))


def _vectors(kernel: Kernel, layout: Layout) -> tuple[str, ...]:
    """By operand, read or written, whether elements that lie side by side fill 16 bytes."""
    found = {}
    for access in kernel.accesses:
        operand = kernel.operands[access.operand]
        beside = access.inner == 1 and access.index is None
        if beside and layout.lanes * WIDTH[operand.dtype] == 16:
            found[access.operand] = "STG" if operand.written else "LDG"
    return tuple(found.values())


@functools.cache
def emitter() -> str:
    """A digest of the emitters' own text, the core's and this one's."""
    from sexpgpu_core.kernels import kernel as module

    digest = hashlib.sha256()
    for folder in (Path(module.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def kernel_records(call: KernelCall, places: Places, number: int) -> list[Launch]:
    return launched(applied(call, places), places, number, call.commit)


def applied(call: KernelCall, places: Places) -> Applied:
    """A call's operands as addresses."""
    kernel = call.kernel
    found = []
    for access, (s0, s1, s2, offset, step) in zip(kernel.accesses, call.places):
        storage = call.operands[access.operand]
        shift = offset * WIDTH[kernel.operands[access.operand].dtype]
        multiple = math.gcd(places.multiple(storage), shift)
        found.append(Place(places.address(storage) + shift, (s0, s1, s2), step, multiple))
    spans = tuple(places.span(s, o.written) for s, o in zip(call.operands, kernel.operands))
    return Applied(kernel, call.outer, tuple(found), spans, call.scalars)


def launched(found: Applied, places: Places, number: int, commit: bool) -> list[Launch]:
    """The launch, or none where there is nothing to do."""
    kernel = found.kernel
    if not found.items or not kernel.inner:
        return []
    layout = layout_of(found, commit)
    _check(found, layout, number)
    arguments = [p.address for p in found.places]
    arguments += [found.items, found.outer[1], found.outer[2]]
    for place in found.places:
        arguments += [*place.strides, place.step]
    block = places.scalars(found.scalars, kernel.scalars) if kernel.scalars else 0
    given = {"scalars": block, "error": places.error(number), "gate": places.gate}
    there = [name for name, is_there in extras(kernel, layout) if is_there]
    arguments += [given[name] for name in there]
    words = [Span(block, block + 8 * len(kernel.scalars), False)] if block else []
    words += [places.word(given[n], n == "error") for n in there if n != "scalars"]
    spans = (*found.operands, *words)
    unit = kernel_unit(kernel, layout)
    grid = blocks(found, layout)
    return [Launch(unit, grid, layout.threads, tuple(arguments), spans, number, commit)]


def _check(found: Applied, layout: Layout, number: int) -> None:
    """Raises E-DEVICE-COMPILE where a number would not fit: rows may begin anywhere, but rows,
    their vectors and strides are counted in 32 bits."""
    counted = found.items * (layout.vectors(found.kernel) if layout.group == 1 else 1)
    most = max(counted, *(max(map(abs, p.strides)) for p in found.places))
    if most > INDICES:
        raise too_many(number, most)


def too_many(number: int, most: int) -> Problem:
    return problem(
        "E-DEVICE-COMPILE",
        f"call {number} counts to {most}: cuda counts rows and vectors in 32 bits",
        call=number,
    )
