"""A kernel call evaluated by NumPy, row by row: what the emitted code must give, to rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..ir.operation import Operations
from ..ir.types import Type, numpy_dtype
from .kernel import Expr, KernelCall

if TYPE_CHECKING:
    import numpy as np

FOLDS = {
    "sum": "add",
    "max": "maximum",
    "min": "minimum",
    "product": "multiply",
    "any": "logical-or",
    "all": "logical-and",
}


def run_call(
    call: KernelCall,
    buffers: Sequence[np.ndarray],
    operations: Operations,
    scalars: Mapping[str, float] | None = None,
) -> tuple[int, int] | None:
    """Write the call's results into `buffers` (flat or not, by storage id, C order).

    The answer is the first guard that failed, (expression, row), or None. `scalars`: step scalars
    by name. Slow and plain; 16-bit floats are rounded at every expression.
    """
    return _Run(call, buffers, operations, scalars or {}).run()


class _Run:
    def __init__(
        self,
        call: KernelCall,
        buffers: Sequence[np.ndarray],
        operations: Operations,
        scalars: Mapping[str, float],
    ) -> None:
        self.call = call
        self.kernel = call.kernel
        self.flat = [buffers[s].reshape(-1) for s in call.operands]
        self.operations = operations
        self.scalars = [scalars[v] if isinstance(v, str) else v for v in call.scalars]
        self.error: tuple[int, int] | None = None
        self.begun: set[tuple[int, int]] = set()

    def run(self) -> tuple[int, int] | None:
        n0, n1, n2 = self.call.outer
        for r in range(n0 * n1 * n2):
            i0, rest = divmod(r, n1 * n2)
            i1, i2 = divmod(rest, n2)
            self._row((i0, i1, i2), r, rest // self.kernel.cell)
        return self.error

    def _row(self, outer: tuple[int, int, int], row: int, part: int) -> None:
        values: list[Any] = []
        for e, x in enumerate(self.kernel.expressions):
            values.append(self._value(e, x, values, outer, row))
        for store in self.kernel.stores:
            where = (outer[0], part, 0) if store.fold != "none" else outer
            at = self._places(store.access, where, values)
            buffer = self.flat[self.kernel.accesses[store.access].operand]
            value = values[store.value]
            if store.fold != "none":
                value = self._folded(store.access, store.fold, buffer, at, value, outer[0], part)
            buffer[at] = value

    def _folded(
        self, access: int, fold: str, buffer: Any, at: Any, value: Any, i0: int, part: int
    ) -> Any:
        key = access, i0 * (1 << 32) + part
        if key not in self.begun:
            self.begun.add(key)
            return value
        return self._apply(FOLDS[fold], [buffer[at], value], str(self._dtype(access)))

    def _dtype(self, access: int) -> str:
        return self.kernel.operands[self.kernel.accesses[access].operand].dtype

    def _places(self, access: int, outer: tuple[int, int, int], values: list[Any]) -> Any:
        """Flat indices of a row: an array, or one number where j does not count."""
        import numpy as np

        s0, s1, s2, offset, step = self.call.places[access]
        row = self.kernel.accesses[access]
        at: Any = offset + outer[0] * s0 + outer[1] * s1 + outer[2] * s2
        if row.index is not None:
            at = at + np.asarray(values[row.index]).astype(np.int64) * step
        if row.inner and self.kernel.inner > 1:
            at = at + np.arange(self.kernel.inner) * (1 if row.inner == 1 else step)
        return at

    def _value(
        self, e: int, x: Expr, values: list[Any], outer: tuple[int, int, int], row: int
    ) -> Any:
        import numpy as np

        kind = numpy_dtype(x.dtype)
        if x.op == "load":
            assert x.access is not None
            buffer = self.flat[self.kernel.accesses[x.access].operand]
            return buffer[self._places(x.access, outer, values)]
        if x.op in ("literal", "uniform"):
            value = x.literal if x.op == "literal" else self.scalars[x.slot or 0]
            return np.asarray(value).astype(kind)
        if x.op == "outer-index":
            return np.asarray(outer[x.slot or 0]).astype(kind)
        if x.op == "inner-index":
            return np.arange(self.kernel.inner).astype(kind)
        arguments = [values[a] for a in x.args]
        if x.op == "guard":
            return self._guard(e, arguments, row)
        if x.op.startswith("reduce-"):
            return self._reduced(x, arguments[0])
        return self._apply(x.op, arguments, x.dtype)

    def _guard(self, e: int, arguments: list[Any], row: int) -> Any:
        import numpy as np

        index, limit = (np.asarray(a).astype(np.int64) for a in arguments)
        bad = (index < 0) | (index >= limit)
        if self.error is None and bad.any():
            self.error = 1 + e, row
        return np.where(bad, 0, index)

    def _reduced(self, x: Expr, value: Any) -> Any:
        import numpy as np

        wide = np.broadcast_to(np.asarray(value), (self.kernel.inner,))
        attributes = {"axes": (0,), "keep": False}
        types = (Type(x.dtype, ()),)
        return self.operations[x.op].reference((wide,), attributes, types)[0]

    def _apply(self, op: str, arguments: list[Any], dtype: str) -> Any:
        import numpy as np

        arrays = np.broadcast_arrays(*(np.asarray(a) for a in arguments))
        kind = numpy_dtype(dtype)
        if op == "quotient":
            return (arrays[0] // np.maximum(arrays[1], 1)).astype(kind)
        if op == "shift-right":
            return (arrays[0] >> arrays[1]).astype(kind)
        if op == "philox":
            return _philox(arrays)
        types = (Type(dtype, arrays[0].shape),)
        return self.operations[op].reference(tuple(arrays), {"dtype": dtype}, types)[0]


def _philox(arrays: Sequence[Any]) -> Any:
    """Word `column mod 4` of each counter."""
    import numpy as np

    from ..ir.philox import words

    column = arrays[0].ravel()
    found = [
        words((int(k0), int(k1)), (int(c) // 4, int(r), int(s), int(i)))[int(c) % 4]
        for c, r, s, i, k0, k1 in zip(column, *(a.ravel() for a in arrays[1:]))
    ]
    return np.array(found, np.uint32).reshape(arrays[0].shape)
