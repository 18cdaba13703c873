"""The tensor builtins by family (contracts/tensor-builtins.md). Importing this defines them all."""

from . import (
    activations,
    arithmetic,
    asking,
    batch,
    comparing,
    composites,
    contractions,
    control,
    convolution,
    elementwise,
    indexing,
    making,
    moving,
    random,
    reductions,
    shape,
)

__all__ = [
    "activations",
    "arithmetic",
    "asking",
    "batch",
    "comparing",
    "composites",
    "contractions",
    "control",
    "convolution",
    "elementwise",
    "indexing",
    "making",
    "moving",
    "random",
    "reductions",
    "shape",
]
