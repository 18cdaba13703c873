"""Which outputs may take the buffer of an input that dies in the same call.

Legal where the kernel says so (`Operand.alias`), or where every element is read before it is
written by the very iteration that writes it: one loop without reductions, folds or gathers, and
equal places on both sides.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..ir.types import WIDTH
from ..kernels.kernel import Call, Kernel, KernelCall, Place, Storage
from .order import Touch


def successors(
    storages: Sequence[Storage],
    calls: Sequence[Call],
    touched: Sequence[Touch],
    first: dict[int, int],
    last: dict[int, int],
    transient: Collection[int],
) -> dict[int, int]:
    """Storage -> the storage that takes over its buffer. `touched`: by call."""
    heirs: dict[int, int] = {}
    for i, (call, (reads, writes)) in enumerate(zip(calls, touched)):
        if not isinstance(call, KernelCall):
            continue
        born = [s for s in writes if s in transient and first[s] == i]
        dying = [s for s in reads if s in transient and last[s] == i and s not in heirs]
        for new in born:
            for old in dying:
                if old not in heirs and may_share(storages, call, old, new):
                    heirs[old] = new
                    break
    return heirs


def may_share(storages: Sequence[Storage], call: KernelCall, old: int, new: int) -> bool:
    """Whether `new` may be written over `old` while the call reads it."""
    a, b = storages[old].type, storages[new].type
    if WIDTH[a.dtype] != WIDTH[b.dtype] or a.size != b.size:
        return False
    if not (_one_loop(call.kernel) or _declared(call, old, new)):
        return False
    places = _places(call, old) | _places(call, new)
    return len(places) == 1


def _declared(call: KernelCall, old: int, new: int) -> bool:
    """Whether the kernel was built to write the one over the other."""
    return any(
        s == new and o.alias is not None and call.operands[o.alias] == old
        for s, o in zip(call.operands, call.kernel.operands)
    )


def _one_loop(kernel: Kernel) -> bool:
    return (
        not kernel.folded
        and all(s.fold == "none" for s in kernel.stores)
        and not any(e.op.startswith("reduce") for e in kernel.expressions)
        and all(a.index is None for a in kernel.accesses)
    )


def _places(call: KernelCall, storage: int) -> set[tuple[int, Place]]:
    return {
        (access.inner, place)
        for access, place in zip(call.kernel.accesses, call.places)
        if call.operands[access.operand] == storage
    }
