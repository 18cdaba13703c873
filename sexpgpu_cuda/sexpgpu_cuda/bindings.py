"""The one importer of cuda.bindings: NVIDIA's driver as Python functions, or what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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


class Described(NamedTuple):
    """A GPU's name, sm_90, and how many multiprocessors it has."""

    name: str
    architecture: str
    multiprocessors: int


def described(driver: Any, device: Any, ask: Callable[..., Any]) -> Described:
    """What a driver says of a GPU; no context is needed. `ask(doing, answer)` looks at answers."""

    def attribute(name: str) -> int:
        key = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(ask(f"asking {name}", driver.cuDeviceGetAttribute(key, device)))

    name = ask("asking the name", driver.cuDeviceGetName(128, device))
    major, minor = (attribute(f"COMPUTE_CAPABILITY_{n}") for n in ("MAJOR", "MINOR"))
    told = name.split(b"\0")[0].decode()
    return Described(told, f"sm_{major}{minor}", attribute("MULTIPROCESSOR_COUNT"))


def versions(driver: Any) -> int:
    """13000 for a driver of CUDA 13.0; 0 where it does not say."""
    result, version = driver.cuDriverGetVersion()
    return int(version) if result == driver.CUresult.CUDA_SUCCESS else 0


def told(version: int) -> str:
    """13.0 of 13000."""
    return f"{version // 1000}.{version % 1000 // 10}"
