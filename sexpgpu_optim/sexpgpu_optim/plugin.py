"""What sexpgpu-optim adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

EXPORTS = (
    "sgd", "adam", "adamw", "nadam", "adamax", "adagrad", "rmsprop", "lion", "constant",
    "warmup-cosine", "warmup-linear", "warmup-stable-decay", "inverse-sqrt", "exponential",
    "step-decay", "polynomial", "one-cycle", "cosine-restarts", "ramp", "centralize",
)  # fmt: skip


@hookimpl
def sexpgpu_modules() -> Iterator[e.ModuleEntry]:
    yield e.ModuleEntry(
        name="sexpgpu/optim", package="sexpgpu_optim", path="lisp/optim.lisp", exports=EXPORTS
    )
