"""Places of values: which moves are views of a storage, by strides, and which need a copy."""

from __future__ import annotations

import functools
from typing import Any

from ..ir import Node
from .kernel import View

Shape = tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def dense_strides(shape: Shape) -> Shape:
    """Row-major strides in elements."""
    strides, step = [0] * len(shape), 1
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def is_dense(view: View) -> bool:
    """Row-major without gaps, from the storage's start or not."""
    step = 1
    for n, s in zip(reversed(view.shape), reversed(view.strides)):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def suits_matmul(view: View) -> bool:
    """The last two axes are (s, 1) or (1, s), as the BLAS wants it; the others are free."""
    (m, n), (a, b) = view.shape[-2:], view.strides[-2:]
    if min(m, n) == 0 or min(view.strides) < 0:
        return False
    rows = (n == 1 or b == 1) and (m == 1 or a >= n)
    columns = (m == 1 or a == 1) and (n == 1 or b >= m)
    return rows or columns


def suits_epilogue(view: View) -> bool:
    """A product's operand, or a bias, or what GELU was given, which is dense."""
    return is_dense(view) or (len(view.shape) > 1 and suits_matmul(view))


def suits_attention(view: View) -> bool:
    """Elements of a head lie side by side; the other axes are free."""
    return view.shape[-1] == 1 or (view.strides[-1] == 1 and min(view.strides) >= 0)


SUITS = {
    "matmul": suits_matmul,
    **dict.fromkeys(("matmul-bias", "matmul-gelu", "matmul-gelu-slope"), suits_epilogue),
    "attention-forward": suits_attention,
    "attention-backward": suits_attention,
}
"""How operands of a call may lie, by operation; of others they are dense."""


@functools.lru_cache(maxsize=4096)
def regroup(shape: Shape, steps: Shape, new: Shape) -> Shape | None:
    """Steps of the axes of `new` over the same elements in order, or None: they are not regular.

    `steps` are strides of a storage or weights of a linear index; an axis of size 1 has step 0.
    """
    runs: list[list[int]] = []
    for n, s in zip(shape, steps):
        if n == 1:
            continue
        if runs and runs[-1][1] == n * s:
            runs[-1][0] *= n
            runs[-1][1] = s
        else:
            runs.append([n, s])
    found = [0] * len(new)
    for axis in range(len(new) - 1, -1, -1):
        n = new[axis]
        if n == 1:
            continue
        if not runs or runs[-1][0] % n:
            return None
        run = runs[-1]
        found[axis] = run[1]
        run[0] //= n
        run[1] *= n
        if run[0] == 1:
            runs.pop()
    return tuple(found)


THROUGH = frozenset(("stop-gradient", "straight-through", "barrier", "gradient-scale"))
"""Operations whose result is their first operand."""
MOVES = THROUGH | {"reshape", "permute", "broadcast-to", "slice", "flip"}
"""Moves that are a matter of strides."""
SHIFTING = frozenset(("slice", "flip"))
"""Moves that change which index an element has."""


def moved(node: Node, view: View) -> View | None:
    """The place of a move's result in its operand's storage, or None where strides do not do."""
    if node.operation in THROUGH:
        return view
    shape = node.types[0].shape
    found = _walked(node.operation, node.attributes, view.shape, view.strides, shape)
    if found is None:
        return None
    return View(view.storage, view.dtype, shape, found[0], view.offset + found[1])


@functools.lru_cache(maxsize=4096)
def _walked(
    op: str, attributes: Any, shape: Shape, strides: Shape, new: Shape
) -> tuple[Shape, int] | None:
    """Strides of a move's result, and what it adds to the offset."""
    given = dict(attributes)
    if op == "permute":
        return tuple([strides[a] for a in given["axes"]]), 0
    if op == "slice":
        offset = sum([a * s for a, s in zip(given["starts"], strides)])
        return tuple([k * s for k, s in zip(given["steps"], strides)]), offset
    if op == "flip":
        axes = given["axes"]
        offset = sum([(new[a] - 1) * strides[a] for a in axes])
        return tuple([-s if a in axes else s for a, s in enumerate(strides)]), offset
    if op == "broadcast-to":
        return widened(shape, strides, new), 0
    found = regroup(shape, strides, new)
    return None if found is None else (found, 0)


@functools.lru_cache(maxsize=4096)
def widened(shape: Shape, steps: Shape, new: Shape) -> Shape:
    """Steps over the axes of a broadcast shape: 0 on axes that are new or were of size 1."""
    lead = len(new) - len(shape)
    own = (0 if n == 1 else s for n, s in zip(shape, steps))
    return (0,) * lead + tuple(own)


@functools.lru_cache(maxsize=4096)
def narrowed(shape: Shape, steps: Shape) -> Shape:
    """Steps of an operand of `shape` that was broadcast to where `steps` hold."""
    lead = len(steps) - len(shape)
    return tuple(0 if n == 1 else s for n, s in zip(shape, steps[lead:]))


def part(view: View, starts: Shape, steps: Shape, shape: Shape) -> View:
    """The part of a view that another shape fills, from starts by steps."""
    offset = view.offset + sum(a * s for a, s in zip(starts, view.strides))
    strides = tuple(k * s for k, s in zip(steps, view.strides))
    return View(view.storage, view.dtype, shape, strides, offset)
