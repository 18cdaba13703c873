"""One program: inputs copied in, its records one after another, results copied out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sexpgpu_core.device import Done, Outcome
from sexpgpu_core.ir.types import WIDTH, Type, numpy_dtype
from sexpgpu_core.plan.plan import Buffer, Region
from sexpgpu_core.plan.words import bits

from .draft import Draft
from .emulator import Emulator
from .gate import NONE


class CudaProgram:
    """`launch` runs to its end on the caller's thread."""

    def __init__(self, name: str, draft: Draft, emulator: Emulator) -> None:
        self.name = name
        self.plan = draft.plan
        self.records = draft.records
        self._draft = draft
        self._emulator = emulator
        buffers = self.plan.buffers
        self._inputs = [
            (b.name, self._array(b, b.type))
            for b in buffers
            if b.region is Region.INPUT and b.name and b.id not in self.plan.constants
        ]
        self._scalars = [b for b in buffers if b.region is Region.SCALAR]
        self._results = [
            (r.name, self._array(buffers[r.buffer], r.type)) for r in self.plan.results
        ]
        for number, values in self.plan.constants.items():
            self._constant(buffers[number], values)

    def launch(self, batch: Mapping[str, Any], scalars: Mapping[str, float | int]) -> Done:
        """TypeError where an array is not of the graph's type, KeyError where one is missing."""
        for name, target in self._inputs:
            given = batch[name]
            if given.dtype != target.dtype or given.shape != target.shape:
                raise TypeError(
                    f"{self.name}: {name} is {given.dtype} {given.shape}, "
                    f"not {target.dtype} {target.shape}"
                )
            target[...] = given
        arena = self._emulator.arena
        for buffer in self._scalars:
            dtype = buffer.type.dtype
            at = self._draft.regions[Region.SCALAR].address + buffer.offset
            arena.poke(at, bits(scalars[buffer.name], dtype), WIDTH[dtype])
        for at, text, dtype in self._draft.places.pokes:
            arena.poke(at, bits(scalars[text], dtype))
        return self._run()

    def _run(self) -> Done:
        import numpy as np

        draft = self._draft
        draft.errors.bytes[:] = 0xFF
        draft.regions[Region.TRANSIENT].bytes[:] = 0xFF
        for record in self.records:
            self._emulator.run(record)
        results = {name: array.copy() for name, array in self._results}
        words = draft.errors.bytes.view(np.uint64)[: draft.calls]
        told = np.flatnonzero(words != np.uint64(NONE))
        error = (int(told[0]), int(words[told[0]])) if len(told) else None
        opened = not draft.commits or bool(draft.gate.bytes[0])
        return Done(Outcome(opened and error is None, results, error))

    def _array(self, buffer: Buffer, type: Type) -> Any:
        address = self._draft.regions[buffer.region].address + buffer.offset
        return self._emulator.arena.array(address, numpy_dtype(type.dtype), type.shape)

    def _constant(self, buffer: Buffer, values: Any) -> None:
        import numpy as np

        array = self._array(buffer, buffer.type)
        array[...] = np.array(values).reshape(array.shape).astype(array.dtype)
