"""A call of a plan on its way to records: its views as addresses with strides."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from sexpgpu_core.ir.types import WIDTH, Type
from sexpgpu_core.kernels.kernel import NodeCall, View
from sexpgpu_core.kernels.views import dense_strides, is_dense

from .work import Place, Places, Record, Span

WIDE = {"bf16": "f32", "f16": "f32"}
"""What sums of a dtype are made in, where it is another."""


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    return dense_strides(shape)


class Side(NamedTuple):
    """Elements in memory. `bytes`: of the whole buffer; `multiple`: of the address."""

    dtype: str
    address: int
    strides: tuple[int, ...]
    bytes: Span
    multiple: int = 16

    def moved(self, elements: int) -> Side:
        by = elements * WIDTH[self.dtype]
        return self._replace(address=self.address + by, multiple=math.gcd(self.multiple, by))

    def place(self, outer: tuple[int, int, int], step: int = 1) -> Place:
        return Place(self.address, outer, step, self.multiple)

    def span(self, written: bool) -> Span:
        return self.bytes._replace(written=written)


class Frame:
    """One call; `records` is what it becomes."""

    def __init__(self, call: NodeCall, places: Places, number: int) -> None:
        self.call = call
        self.places = places
        self.number = number
        self.commit = call.commit
        self.records: list[Record] = []

    def attribute(self, name: str, default: Any = None) -> Any:
        found = self.call.node.get(name, None)
        return default if found is None else found

    def shape(self, k: int) -> tuple[int, ...]:
        return self.call.outputs[k].shape

    def side(self, view: View) -> Side:
        shift = view.offset * WIDTH[view.dtype]
        multiple = math.gcd(self.places.multiple(view.storage), shift)
        span = self.places.span(view.storage, False)
        return Side(
            view.dtype, self.places.address(view.storage) + shift, view.strides, span, multiple
        )

    def input(self, k: int) -> Side:
        return self.side(self.call.inputs[k])

    def output(self, k: int) -> Side:
        return self.side(self.call.outputs[k])

    def room(self, dtype: str, shape: tuple[int, ...]) -> Side:
        """Dense memory of the call's own."""
        size = max(Type(dtype, shape).bytes, 8)
        address = self.places.extra(size)
        return Side(dtype, address, row_major(shape), Span(address, address + size, True))

    def dense(self, k: int, dtype: str = "") -> Side:
        """An input row-major and of a dtype, copied where it is not."""
        from .moves import copied

        view = self.call.inputs[k]
        if is_dense(view) and dtype in ("", view.dtype):
            return self.input(k)
        made = self.room(dtype or view.dtype, view.shape)
        copied(self, self.input(k), made, view.shape)
        return made
