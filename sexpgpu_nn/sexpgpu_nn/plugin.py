"""What sexpgpu-nn adds, as rows. Nothing here imports what does the work."""

from __future__ import annotations

from collections.abc import Iterator

from sexpgpu_core import entries as e
from sexpgpu_core.hookspecs import hookimpl

SEXPGPU_API = 1

EXPORTS = (
    "linear", "bilinear", "embedding", "position-embedding", "sinusoidal-positions", "mlp",
    "gated-mlp", "layers", "highway", "time-embedding", "fourier-features", "lora",
    "layer-norm", "rms-norm", "group-norm", "instance-norm", "batch-norm", "layer-scale",
    "drop-path", "weight-norm", "spectral-norm", "ada-layer-norm", "attention",
    "cross-attention", "latent-attention", "linear-attention", "alibi", "relative-bias",
    "transformer-block", "transformer", "decoder-block", "patch-embedding", "pool",
    "attention-pool", "conv", "conv-transpose", "depthwise-conv", "separable-conv",
    "residual-block", "global-pool", "causal-conv", "bottleneck-block", "squeeze-excite",
    "inverted-residual", "convnext-block", "unet-block", "rnn", "lstm", "gru", "bidirectional",
    "stacked", "min-gru", "rg-lru", "selective-scan", "mamba", "mamba2", "moe", "graph-conv",
    "graph-attention", "dot-interaction", "factorization-machine", "vector-quantize",
    "cross-entropy", "binary-cross-entropy", "mse", "mae", "huber", "kl-divergence",
    "gaussian-kl", "hinge", "cosine-loss", "focal", "gaussian-nll", "poisson-nll",
    "reparameterize", "triplet", "info-nce", "dice", "dpo", "load-balance", "router-z-loss",
    "ctc", "accuracy", "top-k-accuracy", "perplexity", "bits-per-byte", "precision", "recall",
    "f1", "psnr", "confusion", "r-squared", "iou", "auc", "average-precision", "recall-at",
    "correlation",
)  # fmt: skip

PARTS = (
    "linear", "norms", "attention", "blocks", "convolution", "recurrent", "statespace", "mixtures",
    "graphs", "losses", "metrics",
)  # fmt: skip
"""A file a family, loaded by the module that provides them all."""


@hookimpl
def sexpgpu_modules() -> Iterator[e.ModuleEntry]:
    yield e.ModuleEntry(
        name="sexpgpu/nn", package="sexpgpu_nn", path="lisp/nn.lisp", exports=EXPORTS
    )
    for part in PARTS:
        yield e.ModuleEntry(f"sexpgpu/nn/{part}", "sexpgpu_nn", f"lisp/{part}.lisp")
