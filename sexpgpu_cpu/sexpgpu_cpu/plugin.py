"""What sexpgpu-cpu adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

DTYPES = ("f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool")


@hookimpl
def sexpgpu_devices() -> Iterator[e.DeviceEntry]:
    yield e.DeviceEntry(
        name="cpu",
        kind="cpu",
        doc="Fused kernels by LLVM, products emitted or by the BLAS that is there, own threads.",
        load="sexpgpu_cpu.device:load",
        probe="sexpgpu_cpu.device:probe",
        checks="sexpgpu_cpu.device:checks",
        dtypes=DTYPES,
    )
    yield e.DeviceEntry(
        name="reference",
        kind="interpreter",
        doc="Every operation by its NumPy reference, a node at a time: the oracle.",
        load="sexpgpu_cpu.reference:load",
        probe="sexpgpu_cpu.reference:probe",
        dtypes=DTYPES,
    )
