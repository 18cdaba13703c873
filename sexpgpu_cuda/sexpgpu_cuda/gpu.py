"""The device `cuda`: programs compiled, explained and run for an NVIDIA GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sexpgpu_core.device import DeviceFacts, Unit, World
from sexpgpu_core.diagnostics import Problem
from sexpgpu_core.plan.plan import Persistent

from .device import ALONE, EmulatedDevice, llvm_version

if TYPE_CHECKING:
    from .session import CudaSession


class GpuDevice(EmulatedDevice):
    """`check`, `explain` and `compile` ask it without a GPU; `open` needs one."""

    name = "cuda"
    in_host_memory = False

    def probe(self) -> DeviceFacts:
        from .presence import gpu

        compiler = ("llvmlite", llvm_version())
        try:
            found = gpu()
        except Problem as absent:
            d = absent.diagnostic
            return DeviceFacts(False, d.message, 0, 0, (compiler,), d.hint or "")
        versions = (compiler, ("driver", found.driver))
        return DeviceFacts(True, None, found.memory, found.multiprocessors, versions)

    def numerics(self) -> dict[str, str]:
        """All that bits depend on; not cache contents (45.11). Raises E-DEVICE-ABSENT."""
        from .kernels import emitter
        from .presence import gpu, libraries
        from .providers import numerics

        found = gpu()
        return {
            "device": self.name,
            "gpu": found.name,
            "architecture": found.architecture,
            "driver": found.driver,
            "llvmlite": llvm_version(),
            "kernels": emitter(),
            **{k: v for k, v in libraries().items() if v},
            **numerics(),
        }

    def open(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        world: World = ALONE,
        threads: int = 0,
    ) -> CudaSession:
        """Raises E-DEVICE-ABSENT, E-DEVICE-MEMORY, E-DEVICE-OPERATION, E-DEVICE-COMPILE."""
        from .footprint import footprint, refuse_memory
        from .providers import here
        from .real_driver import RealDriver
        from .session import CudaSession, Ways

        driver = RealDriver()
        try:
            needed, free = footprint(units, persistent, True), driver.properties().free
            refuse_memory(needed, free, "the GPU has free")
            checked = os.environ.get("SEXPGPU_CHECK") == "1"
            ways = Ways(not checked, checked, checked)
            return CudaSession(units, persistent, driver, ways, here())
        except Exception:
            driver.close()
            raise


def load(options: Mapping[str, Any] | None = None) -> GpuDevice:
    """The factory that the plug-in's row names."""
    return GpuDevice()
