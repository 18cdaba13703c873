"""Matrix products, plain or ending with a bias, GELU or its slope: cuBLASLt's calls, whose
stand-ins on the CPU are NumPy's products.

16-bit floats are multiplied and summed in f32 and each result is rounded once, as the library does
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.kernel import View

from .frame import WIDE, Frame
from .gemm import gemm_of
from .memory import Arena
from .multiply import Multiply
from .plain_products import plain_product
from .providers import taken
from .tiles import CUBIC, ROOT
from .work import LibraryCall

Epilogue = Callable[[Any, Any], "tuple[Any, ...]"]
"""Sums and the third operand to the results, before they are rounded."""


def _bias(sums: Any, bias: Any) -> tuple[Any, ...]:
    return (sums + bias,)


def _gelu(sums: Any, bias: Any) -> tuple[Any, ...]:
    given = sums + bias
    return given * _share(given), given


def _slope(sums: Any, given: Any) -> tuple[Any, ...]:
    share = _share(given)
    rise = 2.0 * ROOT * (1.0 + 3.0 * CUBIC * given * given)
    return (sums * (share + given * share * (1.0 - share) * rise),)


def _share(x: Any) -> Any:
    """(1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2"""
    import numpy as np

    return 0.5 * (1.0 + np.tanh(ROOT * x * (1.0 + CUBIC * x * x)))


EPILOGUES: dict[str, Epilogue | None] = {
    "matmul": None,
    "matmul-bias": _bias,
    "matmul-gelu": _gelu,
    "matmul-gelu-slope": _slope,
}


def product(frame: Frame) -> None:
    """A record of a product: the library's call, or a kernel of ours where it has none."""
    call = frame.call
    turns = bool(frame.attribute("transpose-x")), bool(frame.attribute("transpose-y"))
    views = (*call.inputs, *call.outputs)
    if 0 in call.outputs[0].shape:
        return
    sides = [frame.side(v) for v in views]
    given = len(call.inputs)
    spans = tuple(s.span(k >= given) for k, s in enumerate(sides))
    addresses = tuple(s.address for s in sides)
    name = call.node.operation

    def made() -> Multiply:
        return Multiply(gemm_of(name, call.inputs, call.outputs, turns), addresses)

    work = taken(frame, "cuBLASLt", made)
    if work is None:
        plain_product(frame, turns)
        return
    run = _stand_in(views, given, turns, EPILOGUES[name])
    frame.records.append(LibraryCall(name, run, addresses, spans, work, frame.number, frame.commit))


def _stand_in(
    views: tuple[View, ...], given: int, turns: tuple[bool, bool], epilogue: Epilogue | None
) -> Callable[..., None]:
    def run(arena: Arena, *addresses: int) -> None:
        import numpy as np

        arrays = [_array(arena, at, view) for at, view in zip(addresses, views)]
        a, b, *more = (_wide(x, v.dtype) for x, v in zip(arrays[:given], views))
        a, b = (np.swapaxes(x, -1, -2) if t else x for x, t in zip((a, b), turns))
        sums = np.matmul(a, b)
        found = (sums,) if epilogue is None else epilogue(sums, *more)
        for array, value in zip(arrays[given:], found):
            array[...] = value.astype(array.dtype)

    return run


def _wide(array: Any, dtype: str) -> Any:
    return array.astype("f4") if dtype in WIDE else array


def _array(arena: Arena, address: int, view: View) -> Any:
    return arena.strided(address, numpy_dtype(view.dtype), view.shape, view.strides)


ROWS = dict.fromkeys(EPILOGUES, product)
