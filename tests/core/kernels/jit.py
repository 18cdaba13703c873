"""Kernels compiled by llvmlite in this process and run on NumPy arrays, for the tests."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.emit import emit
from sexpgpu_core.kernels.kernel import FOLD_ROWS, Kernel, KernelCall
from sexpgpu_core.kernels.target import Target

llvm = pytest.importorskip(
    "llvmlite.binding", reason="llvmlite, which runs emitted kernels, comes with sexpgpu-cpu"
)
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
_ENGINES: list[Any] = []


def host_width() -> int:
    features = llvm.get_host_cpu_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx2") else 4


def compile_text(text: str, name: str) -> Any:
    """A ctypes function of the module's NAME."""
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _ENGINES.append(engine)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return kind(engine.get_function_address(name))


_COMPILED: dict[tuple[str, int], Any] = {}


def compiled(kernel: Kernel, width: int) -> Any:
    key = kernel.key(), width
    if key not in _COMPILED:
        _COMPILED[key] = compile_text(emit(kernel, "kernel", Target(width)), "kernel")
    return _COMPILED[key]


def grid(call: KernelCall) -> int:
    """Rows, or cells of a folded kernel."""
    n0, n1, n2 = call.outer
    return n0 * -(-n1 * n2 // FOLD_ROWS) if call.kernel.folded else n0 * n1 * n2


def block_of(
    call: KernelCall, arrays: Sequence[np.ndarray], scalars: Sequence[Any], error: np.ndarray
) -> np.ndarray:
    """The argument block: operand addresses, sizes, places, scalars, error word."""
    slots = [a.ctypes.data for a in arrays] + list(call.outer)
    for place in call.places:
        slots += place
    block = np.zeros(len(slots) + len(scalars) + 1, np.int64)
    block[: len(slots)] = slots
    raw = block.view(np.uint8)
    for i, (dtype, value) in enumerate(zip(call.kernel.scalars, scalars)):
        data = np.asarray(value).astype(numpy_dtype(dtype)).tobytes()
        at = 8 * (len(slots) + i)
        raw[at : at + len(data)] = np.frombuffer(data, np.uint8)
    block[-1] = error.ctypes.data
    return block


def run_call(
    call: KernelCall,
    arrays: Sequence[np.ndarray],
    scalars: Sequence[Any] | None = None,
    width: int | None = None,
    cuts: Sequence[int] = (),
) -> np.ndarray:
    """Run a call on arrays by operand; rows are cut at `cuts`. Gives the error word."""
    error = np.zeros(2, np.int64)
    values = call.scalars if scalars is None else scalars
    block = block_of(call, arrays, values, error)
    function = compiled(call.kernel, width or host_width())
    edges = [0, *cuts, grid(call)]
    for begin, end in itertools.pairwise(edges):
        function(block.ctypes.data, begin, end)
    return error
