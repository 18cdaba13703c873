"""How long work takes at least on a GPU: bytes by its bandwidth, operations by its peak rates.

Predictions, not measurements. Peak rates are those of NVIDIA's data sheets (dense, without
sparsity); SHARE says what of them work reaches, from what is known of one H200: copies run at
4.3 of 4.8 TB/s and bf16 products at 788 of 989 TFLOP/s.
"""

from __future__ import annotations

from typing import NamedTuple

from sexpgpu_core.diagnostics import nearest, problem


class Gpu(NamedTuple):
    """Bytes of memory; bytes a second; FLOP a second of 16-bit and of f32 products, and of f32
    without tensor cores; multiprocessors."""

    name: str
    architecture: str
    memory: int
    bandwidth: float
    narrow: float
    single: float
    multiprocessors: int


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu("H200", "sm_90", 141 * 10**9, 4.8e12, 989e12, 67e12, 132),
        Gpu("H100", "sm_90", 80 * 10**9, 3.35e12, 989e12, 67e12, 132),
        Gpu("A100", "sm_80", 80 * 10**9, 2.039e12, 312e12, 19.5e12, 108),
    )
}
"""H200 SXM (data sheet of 2024), H100 SXM (2023), A100 80 GB SXM (2021). f32 products do not use
TF32."""

SHARE = {"bytes": 0.9, "product": 0.8, "convolution": 0.6, "attention": 0.45, "element": 0.5}
SHARE.update(plain=0.25, rows=0.05)
"""Of the peak rate, by what is done. Attention's and convolution's are what public measurements
of libraries on an H100 come to; they are the least certain. `plain` (tiled products of ours) and
`rows` (attention of ours) are of f32 without tensor cores, by their instructions: 2 loads of shared
memory and their addresses an 8 multiplications; two 5-step sums over a warp a key."""
SPREAD = ("plain", "rows")
"""Work that computing bounds: too few threads compute less too."""

START = 2e-6
"""Seconds between the nodes of a graph of launches."""
BUSY = 512
"""Threads of a multiprocessor that together keep its part of the memory busy, 16 bytes each."""


def gpu(name: str) -> Gpu:
    """By name, in any case. Raises E-USAGE-VALUE."""
    found = GPUS.get(name.upper())
    if found is None:
        near = nearest(name.upper(), GPUS)
        hint = f"did you mean {near}?" if near else f"known: {' '.join(GPUS)}"
        raise problem("E-USAGE-VALUE", f"nothing is known of a GPU {name}", hint=hint)
    return found


def seconds(of: Gpu, kind: str, bytes: int, flops: int, narrow: bool, threads: int = 0) -> float:
    """The longer of moving and computing. `threads` (0: enough): of the grid; too few of them do
    not keep the memory busy."""
    there = min(1.0, threads / (BUSY * of.multiprocessors)) if threads else 1.0
    moving = bytes / (of.bandwidth * SHARE["bytes"] * there)
    peak = of.narrow if narrow else of.single
    share = SHARE[kind] * (there if kind in SPREAD else 1.0)
    return max(moving, flops / (peak * share))
