"""What of a GPU's software is here: for `doctor` and `devices`, each line with what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from sexpgpu_core.diagnostics import Problem

from . import toolchain
from .bindings import EXTRA, described, driver_module, told, versions
from .cubins import CubinCache
from .failures import NEWER
from .real_driver import CUBINS

PACKAGES = {
    "cuda-bindings": ("cuda-bindings",),
    "cuBLASLt": ("nvidia-cublas", "nvidia-cublas-cu12"),
    "cuDNN": ("nvidia-cudnn-cu13", "nvidia-cudnn-cu12"),
    "cuDNN frontend": ("nvidia-cudnn-frontend",),
}
"""Distributions of PyPI that hold a part; the first is the one that is installed."""
FITS = {
    "cuda-bindings": ((13, 0, 3), (14,)),
    "cuBLASLt": ((13,), (14,)),
    "cuDNN": ((9, 19), (10,)),
    "cuDNN frontend": ((1, 18), (1, 19)),
}
"""Versions that go together: the first that does, and the first that does not any more. The extra
asks for no others; a test holds them to it."""
COMPILE = "pip install 'sexpgpu-cuda[cuda-compile]'"
LEAST = 80
"""sm_80: bf16 in hardware."""


class Gpu(NamedTuple):
    name: str
    architecture: str
    memory: int
    multiprocessors: int
    driver: str


def gpu() -> Gpu:
    """The GPU that a run would take; no memory is touched. Raises E-DEVICE-ABSENT."""
    from .failures import refused

    d = driver_module()

    def ask(doing: str, answer: tuple[Any, ...]) -> Any:
        if answer[0] != d.CUresult.CUDA_SUCCESS:
            raise refused(answer[0].name, doing)
        return answer[1]

    if not ask("counting GPUs", d.cuDeviceGetCount()):
        raise refused("CUDA_ERROR_NO_DEVICE", "counting GPUs")
    device = ask("taking the GPU", d.cuDeviceGet(0))
    found = described(d, device, ask)
    total = int(ask("asking for memory", d.cuDeviceTotalMem(device)))
    return Gpu(found.name, found.architecture, total, found.multiprocessors, told(versions(d)))


def libraries() -> dict[str, str]:
    """Versions of the packages, empty where one is missing."""
    return {name: next(filter(None, map(_version, of)), "") for name, of in PACKAGES.items()}


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def probe() -> dict[str, object]:
    """What `devices` shows."""
    try:
        found = gpu()
    except Problem as absent:
        return {"present": False, "detail": absent.diagnostic.message}
    return {"present": True, "detail": f"{found.name}, {found.architecture}, CUDA {found.driver}"}


def checks() -> Iterator[dict[str, Any]]:
    """What `doctor` shows: keys of its checks. None is `failed`: that is what asks for it."""
    yield from _driver()
    for name, found in libraries().items():
        yield _package(name, found)
    yield _assembler()
    yield _cubins()


def _package(name: str, found: str) -> dict[str, Any]:
    if not found:
        return line(name, "skipped", "not installed", EXTRA)
    least, below = FITS[name]
    numbers = tuple(int(n) for n in re.findall(r"\d+", found))
    if least <= numbers < below:
        return line(name, "ok", found)
    wanted = f"{_dotted(least)} or newer, older than {_dotted(below)}"
    return line(name, "warning", f"{found} does not fit the others: {wanted}", EXTRA)


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


def _driver() -> Iterator[dict[str, Any]]:
    try:
        found = gpu()
    except Problem as absent:
        d = absent.diagnostic
        yield line("driver", "skipped", d.message, d.hint)
        return
    old = float(found.driver) < CUBINS / 1000
    fit = f"CUDA {found.driver}" + (
        ": older than 13.0, so it is given PTX, not cubins" if old else ""
    )
    yield line("driver", "warning" if old else "ok", fit, NEWER if old else None)
    known = int(found.architecture.removeprefix("sm_")) >= LEAST
    detail = f"{found.name}, {found.architecture}, {found.multiprocessors} multiprocessors"
    fix = None if known else "kernels are made for sm_80 (Ampere) and newer"
    facts = {"memory_bytes": found.memory}
    yield line("gpu", "ok" if known else "warning", detail, fix, facts)
    yield _memory()


def _memory() -> dict[str, Any]:
    """Free memory needs a context, so this is the slow one."""
    from .real_driver import RealDriver

    try:
        driver = RealDriver()
        found = driver.properties()
        driver.close()
    except Problem as refused:
        d = refused.diagnostic
        return line("gpu memory", "warning", d.message, d.hint, code=d.code)
    used = found.free < 0.9 * found.memory
    fix = "`nvidia-smi` shows whose it is" if used else None
    detail = f"{found.free / 1e9:.1f} of {found.memory / 1e9:.1f} GB free"
    facts = {"free_bytes": found.free, "memory_bytes": found.memory}
    return line("gpu memory", "warning" if used else "ok", detail, fix, facts)


def _assembler() -> dict[str, Any]:
    path = toolchain.found("ptxas")
    if path is None:
        return line("ptxas", "skipped", "not here: the driver compiles PTX itself", COMPILE)
    found = toolchain.version(path)
    fits = found.split(".")[0] == str(CUBINS // 1000)
    detail = f"{found or 'of no known version'} at {path}"
    fix = None if fits else f"{COMPILE}: cubins of another major version may not load"
    return line("ptxas", "ok" if fits else "warning", detail, fix)


def _cubins() -> dict[str, Any]:
    given = os.environ.get("SEXPGPU_CUBINS")
    if given:
        count = len(list(Path(given).glob("*.cubin")))
        fix = None if count else "`sexpgpu compile FILE --for ARCHITECTURE -o FOLDER`"
        return line("cubins", "ok" if count else "warning", f"{count} in {given}", fix)
    folder = CubinCache().folder
    count = sum(1 for path in folder.glob("*/*") if path.is_file())
    return line("cubins", "ok", f"{count} cached in {folder}")


def line(
    name: str,
    status: str,
    detail: str,
    fix: str | None = None,
    facts: dict[str, Any] | None = None,
    code: str | None = None,
) -> dict[str, Any]:
    return {
        "name": name,
        "group": "cuda",
        "status": status,
        "detail": detail,
        "fix": fix,
        "facts": facts,
        "code": code,
    }
