"""The device `cuda`: programs are compiled and explained as for a GPU. Nothing launches them yet,
so it is never present."""

from __future__ import annotations

import ctypes.util
from collections.abc import Mapping, Sequence
from typing import Any

from sexpgpu_core.device import DeviceFacts, Unit, World
from sexpgpu_core.diagnostics import problem
from sexpgpu_core.plan.plan import Persistent

from .device import ALONE, EmulatedDevice, llvm_version
from .session import CudaSession

WHY = "programs are made for a GPU, but nothing here launches them yet"


class GpuDevice(EmulatedDevice):
    """What `check`, `explain` and `compile` ask; it holds no session."""

    name = "cuda"

    def probe(self) -> DeviceFacts:
        return DeviceFacts(False, WHY, 0, 0, (("llvmlite", llvm_version()),))

    def open(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        world: World = ALONE,
        threads: int = 0,
    ) -> CudaSession:
        """Raises E-DEVICE-ABSENT."""
        hint = "--device cuda-emulated runs the same programs on the CPU, slowly"
        raise problem("E-DEVICE-ABSENT", f"cuda: {WHY}", hint=hint)


def load(options: Mapping[str, Any] | None = None) -> GpuDevice:
    """The factory that the plug-in's row names."""
    return GpuDevice()


def probe() -> dict[str, object]:
    """What `doctor` and `devices` show."""
    driver = ctypes.util.find_library("cuda")
    found = f"driver {driver}" if driver else "no driver (libcuda)"
    return {"present": False, "detail": f"{found}; {WHY}"}
