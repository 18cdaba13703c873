"""Axes of a product to the launch of its tiled kernel: how operands are read, sizes, strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from sexpgpu_core.ir.types import WIDTH

from .frame import Frame, Side
from .layout import INDICES
from .tiles import OF, THREADS, WINDOW, Along, Form, numbers, pointers, results, tiled
from .written import Written, launch


class Axis(NamedTuple):
    """Elements, and strides of those operands and results that have the axis."""

    size: int
    strides: dict[str, int]


class Window(NamedTuple):
    """In the order of tiles.WINDOW."""

    by_row: int
    by_inner: int
    start: int
    limit: int
    divisor: int
    step: int


class Product(NamedTuple):
    """Axes of each kind, from the outermost; `first`: the axes of rows and of inner where windows
    begin."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    columns: Axis
    windows: tuple[Window, ...] = ()
    first: tuple[int, int] = (0, 0)


def multiplied(frame: Frame, operation: str, given: Product) -> None:
    """The launch. `operation`: matmul, or one with an epilogue. Sides are the call's."""
    call = frame.call
    sides = [*map(frame.side, call.inputs), *map(frame.side, call.outputs)]
    names = pointers(operation)
    product = given if given.windows else _simple(given)
    form = _form(operation, product, dict(zip(names, sides)))
    sizes = {w: math.prod(a.size for a in getattr(product, w)) for w in ("batch", "rows", "inner")}
    tile, columns = form.tile, product.columns.size
    across, down = -(-columns // tile.columns), -(-sizes["rows"] // tile.rows)
    found = {"rows": sizes["rows"], "columns": columns, "inner": sizes["inner"]}
    found.update(steps=-(-sizes["inner"] // tile.inner), across=across, down=down)
    found.update(_numbers(product, names))
    launch(
        frame,
        Written(tiled, names, numbers(form)),
        form,
        tuple((s, n in results(operation)) for n, s in zip(names, sides)),
        tuple(found[n] for n in numbers(form)),
        blocks=across * down * sizes["batch"],
        threads=THREADS,
        room=form.room,
        wide=form.wide,
        vectors=tuple("LDG" for a in (form.left, form.right) if _is_full(form, a)),
    )


def _is_full(form: Form, along: Along) -> bool:
    return along.lanes * WIDTH[form.dtype] == 16


def _numbers(product: Product, names: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    axes = {"batch": product.batch, "rows": product.rows, "inner": product.inner}
    for word, there in axes.items():
        found.update({f"{word}_{a}": axis.size for a, axis in enumerate(there)})
    for name in names:
        for word in OF.get(name, ("batch", "rows", "columns")):
            of = (product.columns,) if word == "columns" else axes[word]
            found.update({f"{name}_{word}_{a}": x.strides[name] for a, x in enumerate(of)})
    for w, window in enumerate(product.windows):
        found.update({f"{word}_{w}": value for word, value in zip(WINDOW, window)})
    return found


def _simple(product: Product) -> Product:
    """Axes of a batch that only give x more rows are rows; neighbours are joined."""
    more = tuple(a for a in product.batch if not a.strides["y"])
    left = tuple(a for a in product.batch if a.strides["y"])
    rows = _joined((*more, *product.rows))
    return product._replace(batch=_joined(left), rows=rows, inner=_joined(product.inner))


def _joined(axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    found: list[Axis] = []
    for axis in axes:
        if axis.size == 1 and len(axes) > 1:
            continue
        last = found[-1] if found else None
        if last and all(last.strides[n] == s * axis.size for n, s in axis.strides.items()):
            found[-1] = Axis(last.size * axis.size, axis.strides)
        else:
            found.append(axis)
    return tuple(found or axes[-1:])


def _form(operation: str, product: Product, sides: dict[str, Side]) -> Form:
    dtype = sides["x"].dtype
    left = _along("x", product, product.rows, sides["x"])
    right = _along("y", product, (product.columns,), sides["y"])
    elements = [(s.bytes.stop - s.bytes.start) // WIDTH[s.dtype] for s in sides.values()]
    return Form(
        operation,
        dtype,
        len(product.batch),
        len(product.rows),
        len(product.inner),
        left,
        right,
        len(product.windows),
        product.first,
        any(w.divisor > 1 for w in product.windows),
        max(elements) > INDICES,
    )


def _along(name: str, product: Product, own: tuple[Axis, ...], side: Side) -> Along:
    """As many elements side by side as a thread has of a tile, where all begin at multiples."""
    width = WIDTH[side.dtype]
    lanes = max(16 // width, 2) if width > 1 else 8
    for axis, inner in ((product.inner[-1], True), (own[-1], False)):
        if axis.strides[name] != 1:
            continue
        others = [a for a in (*product.batch, *own, *product.inner) if a is not axis]
        steps = [a.strides[name] for a in others if a.size > 1]
        steps += [w.step for w in product.windows if name == "x"]
        if math.gcd(axis.size, *steps) % lanes == 0 and side.multiple % (lanes * width) == 0:
            return Along(inner, lanes)
    return Along(own[-1].strides[name] != 1 or product.inner[-1].strides[name] == 1, 1)
