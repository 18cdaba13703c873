"""How a kernel call is laid over threads: 16 bytes at a time where it can be, groups for rows.

The layout depends on the kernel, its places and its sizes alone, so the order of every sum does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sexpgpu_core.ir.types import WIDTH
from sexpgpu_core.kernels.kernel import Kernel
from sexpgpu_core.kernels.levels import Levels

from .work import Applied

WARP = 32
FLAT = 256
"""Threads of a block where each works alone."""
LEAST = 128
"""Threads of a block, at least, where groups work on rows."""
MOST = 1024
INDICES = 2**31 - 1
"""Elements that 32 bits count."""
PIECES = 4
"""Vectors of a row that a thread has, about, before the group grows."""
UNROLLED = 8
"""Vectors of a row that a thread keeps in registers; more are made again in each loop."""
KEPT = 24
"""Elements of rows that a thread keeps, about: with them a thread has 64 registers or fewer."""


class Layout(NamedTuple):
    """`lanes`: elements of a vector. `group`: threads of a row, 1 where each has a vector of its
    own. `constant`: for each operand, whether nobody writes it meanwhile. `gated`: a commit.
    `wide`: rows begin past the 2^31st element of some operand."""

    lanes: int
    group: int
    constant: tuple[bool, ...]
    gated: bool
    wide: bool = False

    @property
    def threads(self) -> int:
        """Of a block."""
        if self.group > WARP:
            return self.group  # alone: groups that meet at a barrier have one number of rows
        return FLAT if self.group == 1 else LEAST

    @property
    def rows(self) -> int:
        """Rows (or cells) that a block has at a time, of groups."""
        return self.threads // self.group

    def pieces(self, kernel: Kernel) -> int:
        """Vectors of a row, a thread of the group."""
        return 1 if self.group == 1 else -(-kernel.inner // (self.lanes * self.group))

    def kept(self, kernel: Kernel) -> int:
        """Vectors a row that a thread can keep."""
        return _kept(kernel, self.lanes)

    def vectors(self, kernel: Kernel) -> int:
        """Of a row."""
        return -(-kernel.inner // self.lanes)


def layout_of(applied: Applied, gated: bool) -> Layout:
    kernel = applied.kernel
    lanes = 1
    if kernel.inner > 1:
        lanes = math.gcd(kernel.inner, *_limits(applied))
    wide = applied.elements > INDICES
    return Layout(lanes, _group(kernel, lanes), _constant(applied), gated, wide)


def _constant(applied: Applied) -> tuple[bool, ...]:
    """A read operand is constant where its bytes are in no written one's."""
    written = [s for s in applied.operands if s.written]
    return tuple(
        not s.written and not any(s.start < w.stop and w.start < s.stop for w in written)
        for s in applied.operands
    )


def _limits(applied: Applied) -> list[int]:
    """For each access, elements of which its rows are whole numbers, up to 16 bytes."""
    kernel = applied.kernel
    widths = [WIDTH[kernel.operands[a.operand].dtype] for a in kernel.accesses if a.inner == 1]
    found = [max(16 // max(widths, default=4), 1)]
    for access, place in zip(kernel.accesses, applied.places):
        width = WIDTH[kernel.operands[access.operand].dtype]
        if access.inner != 1:
            continue
        index = () if access.index is None else (place.step,)
        steps = [s * width for s in (*place.strides, *index)]
        found.append(max(math.gcd(place.multiple, *steps) // width, 1))
    return found


def _kept(kernel: Kernel, lanes: int) -> int:
    """By what is alive along a row: all that is read, and a partial result for each fold."""
    levels = Levels(kernel)
    loads = {e.access for e in kernel.expressions if e.op == "load"}
    read = sum(kernel.accesses[a].inner != 0 for a in loads if a is not None)
    folds = [s for n, s in enumerate(kernel.stores) if not levels.is_scalar(n)]
    alive = read + sum(s.fold != "none" for s in folds)
    return max(1, min(UNROLLED, KEPT // (lanes * max(alive, 1))))


def _group(kernel: Kernel, lanes: int) -> int:
    if kernel.inner == 1 or not any(e.op.startswith("reduce-") for e in kernel.expressions):
        return 1
    wanted = -(-kernel.inner // (lanes * min(PIECES, _kept(kernel, lanes))))
    group = WARP
    while group < min(wanted, MOST):
        group *= 2
    return group


BUSY = 1 << 16
"""Threads that keep a large GPU's memory busy: 512 for each of its multiprocessors, about."""
FEW, MANY, SINGLE = 16, 256, 32
"""Rows of a cell of a fold: at least, at most, and where a row is one element."""


def cells(kept: int, rows: int, inner: int) -> int:
    """Rows of a cell of a fold: as many as leave cells for all threads. By shapes alone, so the
    order of every sum is too."""
    if inner == 1:
        return SINGLE
    threads = kept * max(inner // PIECES, WARP)
    most = rows * threads // BUSY
    return min(max(1 << max(most.bit_length() - 1, 0), FEW), MANY)


def blocks(applied: Applied, layout: Layout) -> int:
    """Blocks of the grid."""
    if layout.group == 1:
        return -(-applied.items * layout.vectors(applied.kernel) // layout.threads)
    return -(-applied.items // layout.rows)
