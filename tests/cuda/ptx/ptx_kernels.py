"""Kernels in PTX written by hand, and one call that runs them over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sexpgpu_cuda.ptx.launch import launch, prepare
from sexpgpu_cuda.ptx.memory import Allocation, Memory, Span
from sexpgpu_cuda.ptx.text import Entry, parse

BASE = 0x7F0000000000
HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"


def entry(body: str, parameters: Sequence[str] = ("u64 p0", "u64 p1"), before: str = "") -> Entry:
    """A kernel `k`. Registers are there in plenty."""
    told = ",\n".join(f"  .param .{p}" for p in parameters)
    registers = ".reg .pred %p<9>;\n.reg .b16 %rs<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<99>;\n"
    text = f"{HEAD}{before}\n.visible .entry k(\n{told}\n)\n{{\n{registers}{body}\n}}\n"
    return parse(text)["k"]


def run(
    kernel: Entry,
    arrays: Sequence[Any],
    grid: int = 1,
    threads: int = 32,
    more: Sequence[int] = (),
    races: bool = True,
    room: int | None = None,
) -> list[Any]:
    """The arrays after a launch. Each lies at a place of its own in one allocation; `room`: bytes
    of each that the launch may touch, where it is not all."""
    offsets, at = [], 0
    for array in arrays:
        offsets.append(at)
        at += -(-array.nbytes // 256) * 256 + 256
    raw = np.zeros(at + 8, np.uint8)
    for array, offset in zip(arrays, offsets):
        raw[offset : offset + array.nbytes] = array.ravel().view(np.uint8)
    spans = [Span(BASE + o, BASE + o + (room or a.nbytes)) for a, o in zip(arrays, offsets)]
    memory = Memory([Allocation(BASE, raw)], spans)
    arguments = [*(BASE + o for o in offsets), *more]
    launch(prepare(kernel), grid, threads, arguments, memory, races)
    return [
        raw[o : o + a.nbytes].view(a.dtype).reshape(a.shape).copy() for a, o in zip(arrays, offsets)
    ]


INDEX = """
ld.param.u64 %rd1, [p0];
ld.param.u64 %rd2, [p1];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.s32 %r4, %r2, %r3, %r1;
mul.wide.u32 %rd3, %r4, 4;
add.s64 %rd4, %rd1, %rd3;
add.s64 %rd5, %rd2, %rd3;
"""
"""%r4: the thread's number; %rd4 and %rd5: the addresses of its 32 bits in both arrays."""


def each(body: str, given: Any, out: Any, **options: Any) -> Any:
    """`body` makes %r20 of %r10, a thread an element."""
    text = f"{INDEX}ld.global.b32 %r10, [%rd4];\n{body}\nst.global.b32 [%rd5], %r20;\nret;"
    return run(entry(text), [given, out], **options)[1]
