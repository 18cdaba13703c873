"""The lowering report as text: what a step is predicted to take on a GPU, and by what."""

from __future__ import annotations

from typing import Any

from . import units
from .table import table


def lowered(found: dict[str, Any]) -> list[str]:
    """Of the keys `predicted`, `kernels`, `not_fused` of an `explain` document."""
    predicted, device = found["predicted"], found["device"]
    memory = found["memory"][0]["peak_bytes"]
    step = f"a step {1e3 * predicted['step_s']:.1f} ms, MFU {100 * predicted['mfu']:.0f} %"
    work = f"{predicted['flops_per_step'] / 1e12:.3g} TFLOP"
    moved = f"{predicted['bytes_per_step'] / 1e9:.1f} GB moved"
    held = f"memory {units.size(memory)} of {units.size(device['memory_bytes'])}"
    rows = [_row(k) for k in found["kernels"]]
    head = ["kernel or call", "times", "ms", "GB", "GFLOP", "of"]
    lines = [f"{step}: {work}, {moved}; {held}", predicted["basis"], ""]
    lines += table(head, rows)
    lines += [_refused(row) for row in found["not_fused"]]
    return lines


def _row(kernel: dict[str, Any]) -> list[str]:
    whose = kernel.get("library") or " ".join(kernel["fused"][:3])
    return [
        kernel["name"][:34],
        str(kernel["count"]),
        f"{1e3 * kernel['predicted_s']:.2f}",
        f"{kernel['bytes'] / 1e9:.2f}",
        f"{kernel['flops'] / 1e9:.1f}",
        whose[:26],
    ]


def _refused(row: dict[str, Any]) -> str:
    where = f"{row['file']}:{row['span']['line']}: " if "span" in row else ""
    return f"{where}{' '.join(row['operations'])} is made of our own kernels: {row['reason']}"
