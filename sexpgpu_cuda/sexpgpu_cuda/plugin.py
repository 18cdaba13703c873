"""What sexpgpu-cuda adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

DTYPES = ("f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8", "bool")

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
"""Ampere, Ada, Hopper, Blackwell."""


@hookimpl
def sexpgpu_devices() -> Iterator[e.DeviceEntry]:
    yield e.DeviceEntry(
        name="cuda",
        kind="gpu",
        doc="An NVIDIA GPU: a step as graphs of kernels and library calls.",
        load="sexpgpu_cuda.gpu:load",
        probe="sexpgpu_cuda.presence:probe",
        checks="sexpgpu_cuda.presence:checks",
        needs=("sexpgpu[cuda]",),
        dtypes=DTYPES,
        targets=TARGETS,
        compile="sexpgpu_cuda.cubins:machine_code",
        report="sexpgpu_cuda.lowering:report",
    )
    yield e.DeviceEntry(
        name="cuda-emulated",
        kind="interpreter",
        doc="CUDA's programs on the CPU: the same kernels' PTX in NumPy, checked. Slow.",
        load="sexpgpu_cuda.device:load",
        probe="sexpgpu_cuda.device:probe",
        dtypes=DTYPES,
    )
