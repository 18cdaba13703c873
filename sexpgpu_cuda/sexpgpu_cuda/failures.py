"""What a driver's error codes mean, as problems: the code, what it says of the machine, what to
do. By name, so that the table needs no bindings."""

from __future__ import annotations

from typing import Any, NamedTuple

from sexpgpu_core.diagnostics import Problem, problem


class Failure(NamedTuple):
    """`sticky`: nothing can be done with the GPU in this process any more."""

    code: str
    why: str
    hint: str
    sticky: bool = False


NEWER = "install NVIDIA's driver 580 or newer; `nvidia-smi` says which one is there"
OLDEST = 12000
"""CUDA 12.0, driver 525: kernels are loaded by functions that came with it."""
REPORT = "a mistake of the code generator, not of the file: please report it with the file"
CHECK = "SEXPGPU_CHECK=1 waits for each kernel and names the one that failed"
AGAIN = "`sexpgpu doctor --device cuda`; then resume the run"

_ABSENT = "E-DEVICE-ABSENT"
FAILURES = {
    "CUDA_ERROR_NO_DEVICE": Failure(
        _ABSENT, "no NVIDIA GPU is here", "CUDA_VISIBLE_DEVICES may hide it"
    ),
    "CUDA_ERROR_INVALID_DEVICE": Failure(_ABSENT, "there is no such GPU", "`nvidia-smi -L`"),
    "CUDA_ERROR_STUB_LIBRARY": Failure(
        _ABSENT, "libcuda is a stub for linking", "take the stubs off LD_LIBRARY_PATH"
    ),
    "CUDA_ERROR_DEVICE_UNAVAILABLE": Failure(
        _ABSENT, "the GPU is taken by another process", "`nvidia-smi` shows whose it is"
    ),
    "CUDA_ERROR_DEVICE_NOT_LICENSED": Failure(
        _ABSENT, "the virtual GPU has no licence", "see `nvidia-smi -q`"
    ),
    "CUDA_ERROR_SYSTEM_NOT_READY": Failure(
        _ABSENT, "the system's fabric is not ready", "nvidia-fabricmanager must run"
    ),
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": Failure(
        _ABSENT, "libcuda and the kernel's driver are of different versions", "reboot the machine"
    ),
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": Failure(
        _ABSENT, "the driver is too old for this libcuda", NEWER
    ),
    "CUDA_ERROR_NOT_FOUND": Failure("E-DEVICE-COMPILE", "the module has no such kernel", REPORT),
    "CUDA_ERROR_INVALID_PTX": Failure("E-DEVICE-COMPILE", "the driver refused the PTX", REPORT),
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": Failure(
        "E-DEVICE-COMPILE", "the driver is older than the PTX", NEWER
    ),
    "CUDA_ERROR_INVALID_IMAGE": Failure("E-DEVICE-COMPILE", "the cubin is damaged", "remove it"),
    "CUDA_ERROR_NO_BINARY_FOR_GPU": Failure(
        "E-DEVICE-COMPILE",
        "the cubin is for another GPU",
        "`sexpgpu compile FILE --for ARCHITECTURE`: `doctor` says which",
    ),
    "CUDA_ERROR_OUT_OF_MEMORY": Failure(
        "E-DEVICE-MEMORY", "the GPU's memory is full", "a smaller batch, or :microbatches in defrun"
    ),
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": Failure(
        "E-DEVICE-FAULT", "a block wants more registers or memory than there are", REPORT
    ),
    **{
        f"CUDA_ERROR_{name}": Failure("E-DEVICE-FAULT", why, CHECK, True)
        for name, why in {
            "ILLEGAL_ADDRESS": "a kernel reads or writes outside its memory",
            "MISALIGNED_ADDRESS": "a kernel reads or writes at an address that is not aligned",
            "ILLEGAL_INSTRUCTION": "a kernel has an instruction that the GPU does not know",
            "INVALID_ADDRESS_SPACE": "a kernel reads memory of another kind",
            "INVALID_PC": "a kernel jumps out of its code",
            "HARDWARE_STACK_ERROR": "a kernel's stack is broken",
            "ASSERT": "a kernel trapped",
            "LAUNCH_FAILED": "a kernel failed",
        }.items()
    },
    "CUDA_ERROR_LAUNCH_TIMEOUT": Failure(
        "E-DEVICE-FAULT", "a kernel took longer than a GPU with a screen allows", REPORT, True
    ),
    **{
        f"CUDA_ERROR_{name}": Failure("E-DEVICE-LOST", why, AGAIN, True)
        for name, why in {
            "ECC_UNCORRECTABLE": "the GPU's memory has an error that cannot be corrected",
            "NVLINK_UNCORRECTABLE": "the link between GPUs failed",
            "CONTAINED": "the GPU's memory has an error",
            "CONTEXT_IS_DESTROYED": "the driver took the context away",
            "DEINITIALIZED": "the driver is shutting down",
            "UNKNOWN": "the driver does not say what happened",
        }.items()
    },
}


def failure(name: str) -> Failure:
    """Of an error's name; what is not in the table is a fault."""
    return FAILURES.get(name, Failure("E-DEVICE-FAULT", name, AGAIN))


def refused(name: str, doing: str, **facts: Any) -> Problem:
    """The problem. `doing`: what was asked; facts are told too."""
    found = failure(name)
    why = found.why if found.why == name else f"{found.why} ({name})"
    told = "; ".join(f"{k.replace('_', ' ')}: {v}" for k, v in facts.items())
    message = f"{why}, {doing}" + (f"; {told}" if told else "")
    return problem(found.code, message, hint=found.hint, error=name, **facts)
