"""The one importer of cuda.bindings: NVIDIA's driver as Python functions, or what is missing."""

from __future__ import annotations

from typing import Any

from sexpgpu_core.diagnostics import problem

from .failures import NEWER, OLDEST, refused

EXTRA = "pip install 'sexpgpu[cuda]'"
EMULATED = "`--device cuda-emulated` runs the same programs on the CPU, slowly"


def driver_module() -> Any:
    """cuda.bindings.driver, the driver initialized. Raises E-DEVICE-ABSENT, with what to
    install."""
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise problem(
            "E-DEVICE-ABSENT",
            f"the package cuda-bindings does not load ({error})",
            hint=f"{EXTRA}; {EMULATED}",
        ) from error
    try:
        (result,) = driver.cuInit(0)
        version = versions(driver)
    except RuntimeError as error:  # the package is there, libcuda is not
        raise problem(
            "E-DEVICE-ABSENT",
            f"NVIDIA's driver is not here ({error})",
            hint=f"{NEWER}; {EMULATED}",
        ) from error
    if result != driver.CUresult.CUDA_SUCCESS:
        raise refused(result.name, "starting the driver")
    if version < OLDEST:
        said = f"the driver is for CUDA {told(version)}, the oldest that does is 12.0"
        raise problem("E-DEVICE-ABSENT", said, hint=NEWER, version=version)
    return driver


def versions(driver: Any) -> int:
    """13000 for a driver of CUDA 13.0; 0 where it does not say."""
    result, version = driver.cuDriverGetVersion()
    return int(version) if result == driver.CUresult.CUDA_SUCCESS else 0


def told(version: int) -> str:
    """13.0 of 13000."""
    return f"{version // 1000}.{version % 1000 // 10}"
