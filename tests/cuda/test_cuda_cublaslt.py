"""Descriptors and layouts of the real cuBLASLt, where it is installed: no GPU is asked."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from ctypes.util import find_library

import pytest

from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.kernels.kernel import View
from sexpgpu_core.kernels.views import dense_strides
from sexpgpu_cuda import cublaslt
from sexpgpu_cuda.gemm import Gemm, gemm_of


def is_here() -> bool:
    try:
        cublaslt.library()
    except Problem:
        return False
    return True


needs_library = pytest.mark.skipif(not is_here(), reason="libcublasLt is not installed")


def product(operation: str, dtype: str = "bf16") -> Gemm:
    """24 x 16 by 16 x 32."""
    shapes = [(24, 16), (16, 32), (32,) if operation[-5:] != "slope" else (24, 32), (24, 32)]
    shapes += [(24, 32)] * (operation == "matmul-gelu")
    views = [View(0, dtype, s, dense_strides(s), 0) for s in shapes]
    given = 2 if operation == "matmul" else 3
    return gemm_of(operation, views[:given], views[3:], (False, False))


@needs_library
@pytest.mark.parametrize("operation", list(cublaslt.EPILOGUE))
def test_a_product_is_described_with_its_epilogue(operation: str) -> None:
    made = cublaslt.Descriptors(product(operation))
    made.pointers(4096, 8192)
    kinds = {
        cublaslt.END: (ctypes.c_uint32, cublaslt.EPILOGUE[operation]),
        cublaslt.TURN_A: (ctypes.c_int32, 0),
        cublaslt.BIAS: (ctypes.c_void_p, 4096),
        cublaslt.AUXILIARY: (ctypes.c_void_p, 8192),
    }
    for attribute, (kind, value) in kinds.items():
        assert made.get(attribute, kind) == value
    wide = operation in ("matmul-gelu", "matmul-gelu-slope")
    assert made.get(cublaslt.LEADING, ctypes.c_int64) == (32 if wide else 0)
    made.close()
    made.close()


@needs_library
@pytest.mark.parametrize("dtype", list(cublaslt.DATA))
def test_each_dtype_is_described(dtype: str) -> None:
    cublaslt.Descriptors(product("matmul", dtype)).close()


@needs_library
def test_without_a_gpu_there_is_no_handle() -> None:
    assert cublaslt.version() >= 130000
    if find_library("cuda"):
        pytest.skip("a driver is here")
    with pytest.raises(Problem) as raised:
        cublaslt.Handle()
    assert "cublasLtCreate" in str(raised.value)


def test_where_it_is_not_installed_it_is_said_with_what_to_install() -> None:
    text = (
        "from sexpgpu_cuda import cublaslt; cublaslt.NAMES = (); "
        "from sexpgpu_core.diagnostics import Problem\n"
        "try: cublaslt.library()\n"
        "except Problem as told: print(told.diagnostic.code, told.diagnostic.hint)"
    )
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("E-DEVICE-ABSENT pip install")
