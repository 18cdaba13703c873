"""cuBLASLt by ctypes: descriptors, layouts, algorithms, products. The only module that loads it.

Descriptors and layouts need no GPU; a handle does. Numbers are those of NVIDIA's cublasLt.h (13).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from ctypes import byref, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sexpgpu_core.diagnostics import Problem, problem

from .gemm import Gemm, Matrix
from .tuning import Choice

NAMES = ("libcublasLt.so.13", "libcublasLt.so.12")
STATUS = {
    1: "not initialized", 3: "no memory", 7: "a value is invalid", 8: "not for this GPU",
    11: "memory is not there", 13: "a kernel failed", 14: "internal error", 15: "not supported",
}  # fmt: skip
DATA = {"f32": 0, "f64": 1, "f16": 2, "bf16": 14}
COMPUTE = {"f32": 68, "f16": 68, "bf16": 68, "f64": 70}
"""Sums in f32 without TF32, or in f64."""
SCALE = {"f32": 0, "f16": 0, "bf16": 0, "f64": 1}
EPILOGUE = {"matmul": 1, "matmul-bias": 4, "matmul-gelu": 164, "matmul-gelu-slope": 192}
"""DEFAULT, BIAS, GELU_AUX_BIAS, DGELU."""
TURN_A, TURN_B, END, BIAS, AUXILIARY, LEADING = 3, 4, 7, 8, 11, 12
"""Attributes of a product."""
BATCH, STRIDE = 5, 6
"""Attributes of a layout."""
WORKSPACE, REDUCTIONS = 1, 3
"""Attributes of a preference."""
SPLIT_SUMS = 2
"""The one way of splitting sums that is allowed: parts are kept as they are summed and added in a
step of their own. In place the order is not told; in the output's dtype parts would be rounded."""


class Algorithm(ctypes.Structure):
    """Opaque; may be kept for the same version of the library."""

    _fields_ = (("data", c_uint64 * 8),)


class Found(ctypes.Structure):
    _fields_ = (
        ("algorithm", Algorithm),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


@functools.cache
def library() -> Any:
    """Raises E-DEVICE-ABSENT where it is not installed."""
    for name in (*map(str, _installed()), *NAMES):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    hint = "pip install 'sexpgpu-cuda[cuda]', or nvidia-cublas alone"
    raise problem("E-DEVICE-ABSENT", "cuBLASLt is not here: it makes matrix products", hint=hint)


def _installed() -> list[Path]:
    """Files of the package nvidia-cublas, whatever its layout."""
    spec = find_spec("nvidia")
    folders = (spec.submodule_search_locations or ()) if spec else ()
    return [p for f in folders for n in NAMES for p in sorted(Path(f).glob(f"*/lib/{n}"))]


def version() -> int:
    """130200 for 13.2.0."""
    call = library().cublasLtGetVersion
    call.restype = c_size_t
    return int(call())


def _asked(name: str, *arguments: Any) -> None:
    status = getattr(library(), name)(*arguments)
    if status:
        raise failed(name, status)


def failed(name: str, status: int) -> Problem:
    told = STATUS.get(status, f"status {status}")
    return problem("E-DEVICE-FAULT", f"cuBLASLt: {name}: {told}", library="cuBLASLt", status=status)


class Descriptors:
    """A product's description and layouts, until `close()`. `d` serves as C, which is scaled by
    zero."""

    def __init__(self, gemm: Gemm) -> None:
        self._made: list[tuple[str, c_void_p]] = []
        self.product = self._new(
            "cublasLtMatmulDesc", c_int(COMPUTE[gemm.dtype]), c_int(SCALE[gemm.dtype])
        )
        for attribute, of in ((TURN_A, gemm.a), (TURN_B, gemm.b)):
            self._set(attribute, c_int32(int(of.turned)))
        self._set(END, c_uint32(EPILOGUE[gemm.epilogue]))
        if gemm.auxiliary:
            self._set(LEADING, c_int64(gemm.auxiliary))
        self.a, self.b, self.d = (self._layout(gemm, m) for m in (gemm.a, gemm.b, gemm.d))

    def pointers(self, bias: int, auxiliary: int) -> None:
        """Where the epilogue reads and writes; 0: nowhere."""
        for attribute, address in ((BIAS, bias), (AUXILIARY, auxiliary)):
            if address:
                self._set(attribute, c_void_p(address))

    def get(self, attribute: int, kind: Any) -> int:
        """What an attribute of the product is."""
        found, written = kind(), c_size_t()
        size = c_size_t(ctypes.sizeof(kind))
        _asked(
            "cublasLtMatmulDescGetAttribute", self.product, c_int(attribute), byref(found), size,
            byref(written),
        )  # fmt: skip
        return int(found.value or 0)

    def close(self) -> None:
        while self._made:
            name, made = self._made.pop()
            _asked(f"{name}Destroy", made)

    def _new(self, name: str, *arguments: Any) -> c_void_p:
        made = c_void_p()
        _asked(f"{name}Create", byref(made), *arguments)
        self._made.append((name, made))
        return made

    def _set(self, attribute: int, value: Any) -> None:
        size = c_size_t(ctypes.sizeof(value))
        _asked("cublasLtMatmulDescSetAttribute", self.product, c_int(attribute), byref(value), size)

    def _layout(self, gemm: Gemm, of: Matrix) -> c_void_p:
        sizes = c_uint64(of.rows), c_uint64(of.columns), c_int64(of.leading)
        made = self._new("cublasLtMatrixLayout", c_int(DATA[gemm.dtype]), *sizes)
        for attribute, value in ((BATCH, c_int32(gemm.batch)), (STRIDE, c_int64(of.stride))):
            size = c_size_t(ctypes.sizeof(value))
            _asked("cublasLtMatrixLayoutSetAttribute", made, c_int(attribute), byref(value), size)
        return made


class Handle:
    """The library's state on the current GPU. Raises E-DEVICE-FAULT without one."""

    def __init__(self) -> None:
        self._handle = c_void_p()
        _asked("cublasLtCreate", byref(self._handle))

    def version(self) -> int:
        return version()

    def describe(self, gemm: Gemm) -> Descriptors:
        return Descriptors(gemm)

    def choices(self, of: Descriptors, most: int, limit: int) -> list[Choice]:
        """At most `most` algorithms whose bits are the same each time, the likeliest first, with
        workspaces of at most `limit` bytes."""
        preference = c_void_p()
        _asked("cublasLtMatmulPreferenceCreate", byref(preference))
        try:
            for attribute, value in (
                (WORKSPACE, c_uint64(limit)),
                (REDUCTIONS, c_uint32(SPLIT_SUMS)),
            ):
                size = c_size_t(ctypes.sizeof(value))
                _asked(
                    "cublasLtMatmulPreferenceSetAttribute", preference, c_int(attribute),
                    byref(value), size,
                )  # fmt: skip
            return self._heuristic(of, preference, most)
        finally:
            _asked("cublasLtMatmulPreferenceDestroy", preference)

    def _heuristic(self, of: Descriptors, preference: c_void_p, most: int) -> list[Choice]:
        found, count = (Found * most)(), c_int()
        _asked(
            "cublasLtMatmulAlgoGetHeuristic", self._handle, of.product, of.a, of.b, of.d, of.d,
            preference, c_int(most), found, byref(count),
        )  # fmt: skip
        good = (f for f in found[: count.value] if f.state == 0)
        return [Choice(bytes(f.algorithm).hex(), int(f.workspace)) for f in good]

    def run(
        self,
        of: Descriptors,
        choice: Choice,
        gemm: Gemm,
        pointers: Sequence[int],
        workspace: int,
        stream: int,
    ) -> None:
        """Enqueue d = a b. `pointers`: of a, b and d."""
        kind = ctypes.c_double if gemm.dtype == "f64" else c_float
        one, zero = kind(1.0), kind(0.0)
        algorithm = Algorithm.from_buffer_copy(bytes.fromhex(choice.algorithm))
        a, b, d = map(c_void_p, pointers)
        _asked(
            "cublasLtMatmul", self._handle, of.product, byref(one), a, of.a, b, of.b, byref(zero),
            d, of.d, d, of.d, byref(algorithm), c_void_p(workspace), c_size_t(choice.workspace),
            c_void_p(stream),
        )  # fmt: skip
