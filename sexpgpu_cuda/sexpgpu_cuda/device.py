"""The device `cuda-emulated`: the programs, addresses and PTX of a GPU, executed on the CPU."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sexpgpu_core.device import DeviceFacts, Unit, World
from sexpgpu_core.plan.plan import Persistent

from .operations import LIBRARY_OPERATIONS

if TYPE_CHECKING:
    from .session import CudaSession
    from .tuning import Tuning

ALONE = World()
CHEAP = 64
"""Additions an element that are done again rather than stored: 8 bytes, written and read, take an
H200 as long as about 60 operations."""


class EmulatedDevice:
    """Kernels by LLVM's NVPTX back end, run by the interpreter; libraries by NumPy."""

    name = "cuda-emulated"
    level = "kernels"
    in_host_memory = True
    cheap = CHEAP

    def probe(self) -> DeviceFacts:
        return DeviceFacts(True, None, memory(), 1, (("llvmlite", llvm_version()),))

    def numerics(self) -> dict[str, str]:
        """All that bits depend on; not cache contents (45.11)."""
        import numpy as np

        from .emulated_driver import ARCHITECTURE
        from .kernels import emitter
        from .providers import numerics

        return {
            "device": self.name,
            "architecture": ARCHITECTURE,
            "numpy": np.__version__,
            "llvmlite": llvm_version(),
            "kernels": emitter(),
            **numerics(),
        }

    def library(self, operation: str) -> bool:
        """Whether a node of that name is a call of its own."""
        return operation in LIBRARY_OPERATIONS

    def cells(self, kept: int, rows: int, inner: int) -> int:
        """Rows of a cell of a fold (kernels.folding.Cells)."""
        from .layout import cells

        return cells(kept, rows, inner)

    @property
    def picks(self) -> Tuning:
        """Which algorithms libraries take (runtime.tuning.Picks)."""
        from .tuning import tuning

        return tuning()

    def open(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        world: World = ALONE,
        threads: int = 0,
    ) -> CudaSession:
        """Raises E-DEVICE-MEMORY, E-DEVICE-OPERATION, E-DEVICE-COMPILE, E-USAGE-VALUE."""
        from .emulated_driver import EmulatedDriver
        from .footprint import footprint, refuse_memory
        from .providers import wanted
        from .session import CudaSession, Ways

        refuse_memory(footprint(units, persistent, False), memory(), "the machine has")
        driver = EmulatedDriver(os.environ.get("SEXPGPU_CHECK") == "1")
        return CudaSession(units, persistent, driver, Ways(poisoned=True), wanted())


def memory() -> int:
    """Bytes of this machine, 0 where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def llvm_version() -> str:
    from importlib.metadata import version

    return version("llvmlite")


def load(options: Mapping[str, Any] | None = None) -> EmulatedDevice:
    """The factory that the plug-in's row names."""
    return EmulatedDevice()


def probe() -> dict[str, object]:
    """What `doctor` and `devices` show."""
    return {"present": True, "detail": f"PTX in NumPy, llvmlite {llvm_version()}"}
