"""One program: inputs copied in, one walk over the table, results copied out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sexpgpu_core.device import Done, Outcome, check_fits
from sexpgpu_core.ir.types import WIDTH, Type, numpy_dtype
from sexpgpu_core.plan.plan import Buffer, Region

from .draft import Draft
from .loader import Code
from .memory import Memory
from .pool import Pool
from .table import Table
from .work import bits


class CpuProgram:
    """`launch` runs on the caller's thread and the pool's, with the GIL released."""

    def __init__(
        self,
        name: str,
        draft: Draft,
        code: Code,
        serial: int,
        pool: Pool,
        poison: Memory | None,
    ) -> None:
        """`serial`: address of the driver's function for runs of small records. `poison`: memory
        to fill with NaN before each launch (the checked build)."""
        self.name = name
        self.plan = draft.plan
        self._draft = draft
        self._pool = pool
        self._poison = poison
        self._launches = 0
        self.table = Table(
            draft.works, code, draft.gate, pool.threads, serial, draft.errors.address
        )
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
        self._errors = self._words(draft)
        for number, values in self.plan.constants.items():
            self._constant(buffers[number], values)

    def launch(self, batch: Mapping[str, Any], scalars: Mapping[str, float | int]) -> Done:
        """Runs to its end. TypeError where an array is not of the graph's type, KeyError where
        one is missing."""
        for name, target in self._inputs:
            check_fits(f"{self.name}: {name}", batch[name], target)
            target[...] = batch[name]
        for buffer in self._scalars:
            self._scalar(buffer, scalars[buffer.name])
        for text in self.table.pokes:
            self.table.poke(text, scalars[text])
        reached = self._run()
        results = {name: array.copy() for name, array in self._results}
        error = self._error()
        return Done(Outcome(reached and error is None, results, error))

    def _run(self) -> bool:
        self._launches += 1
        self._draft.errors.fill(0, self._draft.errors.size, 0)
        if self._poison is not None:
            self._poison.fill(0, self._poison.size, 0xFF)
        t = self.table
        t.set_launch(self._launches)
        if not t.parallel:
            return self._pool.launch_alone(t.table.address, t.records, self._launches)
        return self._pool.launch(
            t.table.address, t.counters.address, t.records, self._launches, t.line, t.commit
        )

    def run_record(self, address: int) -> None:
        """One record of the table alone, on this thread; for measuring."""
        self._pool.launch_alone(address, 1, self._launches)

    def _error(self) -> tuple[int, int] | None:
        """(call, row) of the first call that reported one."""
        if not self._errors[:, 0].any():
            return None
        number = int(self._errors[:, 0].argmax())
        return number, int(self._errors[number, 1])

    def _array(self, buffer: Buffer, type: Type) -> Any:
        memory = self._draft.memory[buffer.region]
        return memory.array(numpy_dtype(type.dtype), type.shape, buffer.offset)

    def _scalar(self, buffer: Buffer, value: float) -> None:
        width = WIDTH[buffer.type.dtype]
        raw = bits(value, buffer.type.dtype) & ((1 << 8 * width) - 1)
        memory = self._draft.memory[Region.SCALAR]
        memory.map[buffer.offset : buffer.offset + width] = raw.to_bytes(width, "little")

    def _constant(self, buffer: Buffer, values: Any) -> None:
        import numpy as np

        array = self._array(buffer, buffer.type)
        array[...] = np.array(values).reshape(array.shape).astype(array.dtype)

    def _words(self, draft: Draft) -> Any:
        import numpy as np

        return draft.errors.array(np.int64, (max(len(self.plan.calls), 1), 2))
