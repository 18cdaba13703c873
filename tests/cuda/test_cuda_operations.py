"""Nothing that a GPU may be asked for is the emulator's alone: each operation of the core is
computed in a kernel, expands, or is a call whose record is a launch or a library's work."""

from __future__ import annotations

import inspect

from sexpgpu_core.ir.operation import Fusion
from sexpgpu_core.ir.ops import OPERATIONS
from sexpgpu_core.kernels.prepare import COMPUTED
from sexpgpu_core.kernels.repeat import LOOPS
from sexpgpu_cuda import attention, libraries, products
from sexpgpu_cuda.calls import LIBRARY
from sexpgpu_cuda.lowering import LIBRARIES
from sexpgpu_cuda.operations import LIBRARY_OPERATIONS
from sexpgpu_cuda.work import LibraryCall

IRREGULAR = (Fusion.OPAQUE, Fusion.LIBRARY)


def test_what_does_not_expand_is_a_call() -> None:
    asked = {
        name for name, row in OPERATIONS.items()
        if row.fusion in IRREGULAR and row._expand is None and name not in COMPUTED
    }  # fmt: skip
    assert {"svd", "max-pool-gradient", "conv", "scan", "cholesky"} <= asked
    assert asked <= LIBRARY_OPERATIONS


def test_a_library_s_call_has_what_a_gpu_is_given() -> None:
    """A record without it cannot be made."""
    work = inspect.signature(LibraryCall).parameters["work"]
    assert work.default is inspect.Parameter.empty
    assert "None" not in str(work.annotation)


def test_only_rows_that_name_a_library_call_one() -> None:
    called = {*products.ROWS, *attention.ROWS, *libraries.ROWS}
    assert called == {*LIBRARIES}
    ours = {row for name, row in LIBRARY.items() if name not in called}
    modules = {inspect.getmodule(getattr(row, "func", row)) for row in ours}
    for module in modules:
        assert module is not None
        assert not hasattr(module, "LibraryCall"), module.__name__
    assert LIBRARY.keys() | LOOPS == LIBRARY_OPERATIONS
