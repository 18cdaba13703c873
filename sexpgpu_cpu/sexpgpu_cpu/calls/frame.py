"""What a lowering of one node is handed: dense operands, results, and a way to add work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sexpgpu_core.ir.types import WIDTH, Type
from sexpgpu_core.kernels.kernel import NodeCall, View
from sexpgpu_core.plan.make import dense

from ..loader import CodeUnit
from ..native.types import register
from ..native.unit import native_unit
from ..work import Places, Span, Work
from . import source, window_source

AXES = 6
WIDE = {"bf16": "f32", "f16": "f32"}
"""16-bit floats are computed in f32 and rounded once at the end, as the references do."""


class Frame:
    """Collects the work of one call. Work of one call runs in the order in which it is added."""

    def __init__(self, call: NodeCall, places: Places, number: int) -> None:
        self.call = call
        self.node = call.node
        self.places = places
        self.number = number
        self.works: list[Work] = []
        self.spans = [places.span(v.storage, False) for v in call.inputs]
        self.spans += [places.span(v.storage, True) for v in call.outputs]
        self._after: list[Callable[[], None]] = []

    def done(self) -> list[Work]:
        """All work, with the copies that results need."""
        for action in self._after:
            action()
        self._after = []
        for work in self.works:
            work.spans = tuple(self.spans)
        return self.works

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.node.get(name, default)

    # ---- operands
    def input(self, position: int, dtype: str | None = None) -> int:
        """Address of an operand's elements, dense, in `dtype` (its own by default)."""
        view = self.call.inputs[position]
        wanted = dtype or view.dtype
        if dense(view) and wanted == view.dtype:
            return self.at(view)
        size = Type(wanted, view.shape).bytes
        room = self.room(size)
        self.move(view, self.at(view), Type(wanted, view.shape), room)
        return room

    def output(self, position: int = 0, dtype: str | None = None) -> int:
        """Where to write a result, dense, in `dtype`; moved to its place afterwards if needed."""
        view = self.call.outputs[position]
        wanted = dtype or view.dtype
        if dense(view) and wanted == view.dtype:
            return self.at(view)
        type = Type(wanted, view.shape)
        room = self.room(type.bytes)
        self._after.append(lambda: self.back(type, room, view))
        return room

    def back(self, type: Type, room: int, view: View) -> None:
        """Dense room to a result's view."""
        strides = row_major(type.shape)
        self.strided(type.dtype, room, strides, view.dtype, self.at(view), view.strides, type.shape)

    def at(self, view: View) -> int:
        return self.places.address(view.storage) + view.offset * WIDTH[view.dtype]

    def room(self, size: int) -> int:
        """Memory for this call alone."""
        address = self.places.extra(size)
        self.spans.append(Span(address, address + max(size, 1), True))
        return address

    def common(self, size: int) -> int:
        """Memory that calls share in turn; what is in it lasts for this call."""
        address = self.places.common(size)
        self.spans.append(Span(address, address + size, True))
        return address

    def move(self, view: View, address: int, type: Type, room: int) -> None:
        """A view to dense room, converted."""
        target = row_major(type.shape)
        self.strided(view.dtype, address, view.strides, type.dtype, room, target, type.shape)

    def strided(
        self,
        from_dtype: str,
        source_address: int,
        read: Sequence[int],
        to_dtype: str,
        target_address: int,
        write: Sequence[int],
        shape: Sequence[int],
    ) -> None:
        """Strided to strided, converted by storage width."""
        axes = _joined(shape, read, write)
        if len(axes) > AXES:
            self._split(from_dtype, source_address, to_dtype, target_address, axes)
            return
        pad = [(1, 0, 0)] * (AXES - len(axes))
        sizes, reads, writes = zip(*(pad + axes))
        cells = 1
        for n in sizes[:-1]:
            cells *= n
        cells = cells if sizes[-1] else 0
        unit = native_unit(
            f"move_{from_dtype}_{to_dtype}",
            source.MOVES,
            ("move", "fill"),
            {"T": from_dtype, "U": to_dtype},
        )
        words = [source_address, target_address, *sizes, *reads, *writes]
        self.add(unit, "move", words, cells, 5e-9 + sizes[-1] * 4e-10)

    def _split(
        self,
        from_dtype: str,
        source_address: int,
        to_dtype: str,
        target_address: int,
        axes: list[tuple[int, int, int]],
    ) -> None:
        (n, read, write), *rest = axes
        sizes, reads, writes = zip(*rest)
        for i in range(n):
            self.strided(
                from_dtype,
                source_address + i * read * WIDTH[from_dtype],
                reads,
                to_dtype,
                target_address + i * write * WIDTH[to_dtype],
                writes,
                sizes,
            )

    def fill(self, value: float) -> None:
        """One number everywhere in the result."""
        out = self.call.outputs[0]
        word = self.places.constant((value,), out.dtype)
        zero = (0,) * len(out.shape)
        self.strided(out.dtype, word, zero, out.dtype, self.at(out), out.strides, out.shape)

    # ---- work
    def add(
        self, unit: CodeUnit, name: str, words: list[int], cells: int, seconds: float, **more: Any
    ) -> None:
        """One piece; `seconds` guesses a cell."""
        if cells <= 0:
            return
        work = Work(unit, name, words, cells, seconds, call=self.number, **more)
        work.commit = self.call.commit
        self.works.append(work)

    def unit(self, family: str, exported: tuple[str, ...], **constants: Any) -> CodeUnit:
        """A unit of `source`, specialised: T, U, J dtypes; C is the register kind of T."""
        text = getattr(source, family, None) or getattr(window_source, family)
        return self.text_unit(family, text, exported, **constants)

    def text_unit(
        self, family: str, text: str, exported: tuple[str, ...], **constants: Any
    ) -> CodeUnit:
        """A unit of a source of its own."""
        if "T" in constants:
            constants["C"] = register(constants["T"])
            constants["BYTES"] = WIDTH[constants["T"]]
            constants["U64"] = constants["T"] == "u64"
        return native_unit(family.lower(), text, exported, constants)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a dense array, in elements."""
    strides = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def around(shape: Sequence[int], axis: int) -> tuple[int, int, int]:
    """A shape as (outer, axis, inner)."""
    outer = inner = 1
    for n in shape[:axis]:
        outer *= n
    for n in shape[axis + 1 :]:
        inner *= n
    return outer, shape[axis], inner


def _joined(
    shape: Sequence[int], read: Sequence[int], write: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Axes (size, stride, stride) with those of size 1 dropped and neighbours joined."""
    axes: list[tuple[int, int, int]] = []
    for n, r, w in zip(shape, read, write):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * r and axes[-1][2] == n * w:
            axes[-1] = (axes[-1][0] * n, r, w)
        else:
            axes.append((n, r, w))
    return axes or [(1, 0, 0)]
