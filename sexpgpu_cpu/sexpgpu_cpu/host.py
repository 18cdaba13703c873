"""This machine: vector width, processor, versions. Imports neither numpy nor LLVM."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from sexpgpu_core.records import NamedTuple

X86_64_LINUX = sys.platform.startswith("linux") and platform.machine() == "x86_64"


class Host(NamedTuple):
    """`width`: f32 lanes of a vector. `identity`: a digest of model and features."""

    machine: str
    model: str
    width: int
    fma: bool
    identity: str


@functools.cache
def host() -> Host:
    """Of the processor this runs on. SEXPGPU_WIDTH (4, 8, 16) narrows the vectors, for tests."""
    machine = platform.machine()
    model, flags = _features()
    width, fma = 4, True
    if machine in ("x86_64", "AMD64"):
        width = 16 if "avx512f" in flags and "avx512vl" in flags else 8 if "avx2" in flags else 4
        fma = "fma" in flags
    asked = int(os.environ.get("SEXPGPU_WIDTH") or "0")
    width = min(width, asked) if asked in (4, 8, 16) else width
    text = f"{machine} {model} {' '.join(sorted(flags))} {width}"
    return Host(machine, model, width, fma, hashlib.sha256(text.encode()).hexdigest()[:16])


def _features() -> tuple[str, frozenset[str]]:
    """Model and feature flags: of the first processor in /proc/cpuinfo, elsewhere by sysctl."""
    try:
        with open("/proc/cpuinfo") as file:
            text = file.read(16384)
    except OSError:
        return _sysctl()
    fields = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", text, re.M)[::-1])
    model = fields.get("model name") or fields.get("CPU part") or platform.processor()
    return model, frozenset((fields.get("flags") or fields.get("Features") or "").split())


def _sysctl() -> tuple[str, frozenset[str]]:
    import subprocess

    names = ("machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features")
    found = [
        subprocess.run(["sysctl", "-n", n], capture_output=True, text=True, check=False).stdout
        for n in names
    ]
    flags = " ".join(found[1:]).lower().replace("avx2.0", "avx2").split()
    return found[0].strip() or platform.processor(), frozenset(flags)


@functools.cache
def llvm_version() -> str:
    """llvmlite's version, read without importing it (70 ms)."""
    spec = find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return "none"
    try:
        text = Path(spec.origin).with_name("_version.py").read_text()
    except OSError:
        return "unknown"
    found = re.search(r"""["']version["']: ["']([^"']+)|version_version = ["']([^"']+)""", text)
    return next((g for g in found.groups() if g), "unknown") if found else "unknown"


def cores() -> int:
    """Processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Files that tell how much a container may have."""


def memory() -> int:
    """Bytes of memory of the machine, or of this container; 0 where unknown."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        there = 0
    found = [there] if there > 0 else []
    for name in LIMITS:
        with contextlib.suppress(OSError, ValueError):
            found.append(int(Path(name).read_text()))
    return min(found, default=0)
