"""What sexpgpu-nn adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

EXPORTS = (
    "linear", "bilinear", "embedding", "position-embedding", "sinusoidal-positions", "mlp",
    "gated-mlp", "layers", "highway", "layer-norm", "rms-norm", "group-norm", "instance-norm",
    "batch-norm", "layer-scale", "drop-path", "attention", "cross-attention", "transformer-block",
    "transformer", "patch-embedding", "pool", "conv", "conv-transpose", "depthwise-conv",
    "separable-conv", "residual-block", "global-pool", "cross-entropy", "binary-cross-entropy",
    "mse", "mae", "huber", "kl-divergence", "gaussian-kl", "hinge", "cosine-loss", "accuracy",
    "top-k-accuracy", "perplexity", "bits-per-byte", "f1", "precision", "recall", "psnr",
)  # fmt: skip


PARTS = ("linear", "norms", "attention", "blocks", "convolution", "losses", "metrics")
"""A file a family, loaded by the module that provides them all."""


@hookimpl
def sexpgpu_modules() -> Iterator[e.ModuleEntry]:
    yield e.ModuleEntry(
        name="sexpgpu/nn", package="sexpgpu_nn", path="lisp/nn.lisp", exports=EXPORTS
    )
    for part in PARTS:
        yield e.ModuleEntry(f"sexpgpu/nn/{part}", "sexpgpu_nn", f"lisp/{part}.lisp")
