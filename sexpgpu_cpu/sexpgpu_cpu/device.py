"""The device `cpu`: holds no memory and opens nothing before `open`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sexpgpu_core.device import DeviceFacts, Unit, World
from sexpgpu_core.diagnostics import problem
from sexpgpu_core.plan.plan import Persistent, Region

from . import host
from .operations import LIBRARY_OPERATIONS

if TYPE_CHECKING:
    from .session import CpuSession


ALONE = World()


class CpuDevice:
    """Kernels by LLVM, products by the first provider that is there, a thread pool of its own."""

    name = "cpu"
    level = "kernels"
    in_host_memory = True

    def probe(self) -> DeviceFacts:
        machine = host.host()
        versions = (("llvmlite", host.llvm_version()), ("processor", machine.model))
        return DeviceFacts(True, None, host.memory(), host.cores(), versions)

    def numerics(self) -> dict[str, str]:
        """All that bits depend on; not threads, vector width or cache contents (45.11)."""
        from sexpgpu_core.kernels import maths

        from .blas import provider
        from .native.unit import file_digest

        blas = provider()
        return {
            "device": "cpu",
            "fma": str(host.host().fma).lower(),
            "blas": blas.name,
            "blas-version": blas.version,
            "blas-core": blas.core,
            "maths": file_digest(Path(maths.__file__)),
        }

    def library(self, operation: str) -> bool:
        """Whether a node of that name is a call of its own."""
        return operation in LIBRARY_OPERATIONS

    def open(
        self,
        units: Sequence[Unit],
        persistent: Persistent,
        world: World = ALONE,
        threads: int = 0,
    ) -> CpuSession:
        """`threads` 0: one a core. Raises E-DEVICE-MEMORY, E-DEVICE-OPERATION, E-DEVICE-COMPILE."""
        from .session import CpuSession

        _check_memory(units, persistent)
        return CpuSession(units, persistent, threads or default_threads())


def default_threads() -> int:
    """SEXPGPU_THREADS, else the processors this process may use."""
    asked = os.environ.get("SEXPGPU_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else host.cores()


def _check_memory(units: Sequence[Unit], persistent: Persistent) -> None:
    plans = [u.plan for u in units if u.plan is not None]
    transient = max((p.bytes.get(Region.TRANSIENT, 0) for p in plans), default=0)
    own = sum(
        p.bytes.get(r, 0) for p in plans for r in (Region.INPUT, Region.SCALAR, Region.OUTPUT)
    )
    # a checkpoint is written from a copy
    needed = persistent.bytes + transient + own + persistent.saved_bytes
    there = host.memory()
    if there and needed > there:
        raise problem(
            "E-DEVICE-MEMORY",
            f"the run needs {needed / 1e9:.1f} GB, the machine has {there / 1e9:.1f} GB",
            needed=needed,
            available=there,
        )


def load(options: Mapping[str, Any] | None = None) -> CpuDevice:
    """The factory that the plug-in's row names."""
    return CpuDevice()


def probe() -> dict[str, object]:
    """What `doctor` and `run` show."""
    machine = host.host()
    detail = f"{machine.model}, {host.cores()} cores, {machine.width} lanes of f32"
    return {"present": True, "detail": detail}


def checks() -> Iterator[dict[str, object]]:
    """What `doctor` shows besides: whose products a run takes (45.35)."""
    from .blas import provider

    blas = provider()
    detail = " ".join(filter(None, (blas.name, blas.version, blas.core)))
    yield {"name": "blas", "group": "devices", "status": "ok", "detail": detail}
