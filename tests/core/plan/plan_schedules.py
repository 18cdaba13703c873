"""Small schedules by hand: elementwise kernels over storages of 64 floats."""

from __future__ import annotations

from sexpgpu_core.ir import Type
from sexpgpu_core.kernels.kernel import (
    Access,
    Expr,
    Kernel,
    KernelCall,
    Operand,
    Schedule,
    Storage,
    Store,
    View,
)

N = 64
TYPE = Type("f32", (N,))


def element_call(reads: list[int], write: int, commit: bool = False) -> KernelCall:
    """write = sum of reads, element by element."""
    operands = (*(Operand("f32") for _ in reads), Operand("f32", True))
    accesses = tuple(Access(i, 1) for i in range(len(operands)))
    expressions = [Expr("load", (), "f32", access=i) for i in range(len(reads))]
    last = 0
    for i in range(1, len(reads)):
        expressions.append(Expr("add", (last, i), "f32"))
        last = len(expressions) - 1
    store = (Store(len(reads), last),)
    kernel = Kernel(N, False, operands, accesses, (), tuple(expressions), store)
    places = ((0, 0, 0, 0, 0),) * len(operands)
    return KernelCall(kernel, (*reads, write), (1, 1, 1), places, commit=commit)


def temp(id: int) -> Storage:
    return Storage(id, TYPE, "temp")


def given(id: int, name: str = "x") -> Storage:
    return Storage(id, TYPE, "batch", name)


def parameter(id: int, name: str = "p") -> Storage:
    return Storage(id, TYPE, "parameter", name)


def chain(length: int) -> Schedule:
    """x -> t1 -> t2 ... ; the last is the result."""
    storages = [given(0)] + [temp(i + 1) for i in range(length)]
    calls = [element_call([i], i + 1) for i in range(length)]
    return Schedule(storages, calls, length, {"y": view(length)})


def view(storage: int) -> View:
    return View(storage, "f32", (N,), (1,))
