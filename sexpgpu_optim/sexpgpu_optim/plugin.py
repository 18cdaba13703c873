"""What sexpgpu-optim adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

EXPORTS = (
    "sgd", "lion", "lars", "adam", "adamw", "nadam", "radam", "adamax", "adagrad", "rmsprop",
    "lamb", "schedule-free-adamw", "adafactor", "muon", "shampoo", "soap", "lookahead", "noisy",
    "centralize", "clip-adaptive", "layer-decay", "constant", "warmup-cosine", "warmup-linear",
    "warmup-stable-decay", "inverse-sqrt", "exponential", "step-decay", "piecewise", "polynomial",
    "one-cycle", "cosine-restarts", "ramp", "join",
)  # fmt: skip

PARTS = ("momentum", "adaptive", "matrix", "wrappers", "schedules")
"""A file a family, loaded by the module that provides them all."""


@hookimpl
def sexpgpu_modules() -> Iterator[e.ModuleEntry]:
    yield e.ModuleEntry(
        name="sexpgpu/optim", package="sexpgpu_optim", path="lisp/optim.lisp", exports=EXPORTS
    )
    for part in PARTS:
        yield e.ModuleEntry(f"sexpgpu/optim/{part}", "sexpgpu_optim", f"lisp/{part}.lisp")
