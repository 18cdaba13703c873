"""What a cubin's machine code does with memory, as nvdisasm shows it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from sexpgpu_core.diagnostics import problem

from . import toolchain
from .cubins import Cubin
from .work import Unit

ACCESS = re.compile(r"\b(LDG|STG|LDL|STL|LDS|STS)\.?([\w.]*)")
BITS = {"128": 128, "64": 64, "U8": 8, "S8": 8, "U16": 16, "S16": 16}
LOCAL = ("LDL", "STL")


def accesses(code: bytes) -> Counter[tuple[str, int]]:
    """How many instructions of a kind touch so many bits: ("LDG", 128) ... Raises E-DEVICE-ABSENT
    where nvdisasm is not there."""
    tool = toolchain.found("nvdisasm")
    if tool is None:
        raise problem(
            "E-DEVICE-ABSENT", "nvdisasm is not here: it shows cubins", hint=toolchain.INSTALL
        )
    with tempfile.TemporaryDirectory(prefix="sexpgpu-sass-") as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(code)
        ran = subprocess.run(
            [tool, "-c", "-ndf", str(path)], capture_output=True, text=True, timeout=120
        )
    if ran.returncode != 0:
        raise problem("E-DEVICE-COMPILE", f"nvdisasm refused a cubin: {ran.stderr.strip()[:200]}")
    return Counter((kind, _bits(rest)) for kind, rest in ACCESS.findall(ran.stdout))


def _bits(suffixes: str) -> int:
    return next((BITS[word] for word in suffixes.split(".") if word in BITS), 32)


def faults(unit: Unit, cubin: Cubin, seen: Counter[tuple[str, int]]) -> list[str]:
    """What breaks the budget: a stack, local memory, fewer than half of the threads that a
    multiprocessor can hold, a full tile that is not moved 16 bytes at a time."""
    found = []
    if cubin.stack or cubin.spilled:
        found.append(f"{cubin.stack} bytes of stack, {cubin.spilled} spilled")
    found += [f"{kind} touches local memory" for kind, _ in seen if kind in LOCAL]
    if occupancy(cubin) < 0.5:
        share = f"{100 * occupancy(cubin):.0f} %"
        found.append(f"{cubin.registers} registers a thread: {share} of the threads")
    for kind, least in Counter(unit.vectors).items():
        if seen[kind, 128] < least:
            found.append(f"{seen[kind, 128]} of {least} {kind} are of 128 bits")
    return found


def occupancy(cubin: Cubin) -> float:
    """The share of 2,048 threads that registers and shared memory let a multiprocessor hold: of
    65,536 registers, given to warps by 256, and 227 KiB with 1 KiB a block for the system."""
    warps = -(-cubin.threads // 32)
    registers = -(-cubin.registers * 32 // 256) * 256
    blocks = min(64 // warps, 32, 65536 // registers // warps, 227 * 1024 // (cubin.shared + 1024))
    return blocks * warps / 64
