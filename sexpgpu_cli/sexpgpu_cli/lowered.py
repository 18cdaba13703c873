"""What a step is predicted to take, and by which kernels and calls, as text."""

from __future__ import annotations

from typing import Any

from . import units
from .table import table


def head(found: dict[str, Any]) -> list[str]:
    """Of the keys `predicted`, `device` and `memory` of an `explain` document."""
    predicted, device = found["predicted"], found["device"]
    used = f", MFU {100 * predicted['mfu']:.0f} %" if "mfu" in predicted else ""
    step = f"a step {1e3 * predicted['step_s']:.3g} ms{used}"
    work = f"{units.count(predicted['flops_per_step'])}FLOP"
    moved = f"{units.size(predicted['bytes_per_step'])} moved"
    told = f"{step}: {work}, {moved}"
    if found.get("memory"):
        of = f" of {units.size(device['memory_bytes'])}" if "memory_bytes" in device else ""
        told += f"; memory {units.size(found['memory'][0]['peak_bytes'])}{of}"
    return [told, predicted["basis"]]


def kernel_lines(rows: list[dict[str, Any]]) -> list[str]:
    cells = [_row(k) for k in rows]
    return table(["kernel or call", "times", "ms", "moved", "GFLOP", "of"], cells)


def _row(kernel: dict[str, Any]) -> list[str]:
    whose = kernel.get("library") or " ".join(kernel["fused"][:3])
    return [
        kernel["name"][:34],
        str(kernel["count"]),
        f"{1e3 * kernel['predicted_s']:.3g}",
        units.size(kernel["bytes"]),
        f"{kernel['flops'] / 1e9:.3g}",
        whose[:26],
    ]
