"""Examples in PyTorch, each written from its paper: same shapes, our weights, same optimizer.

A twin has `build(setup)`, a module from the loader's fields to the loss; `places(model)`, our paths
to its parameters; `optimizer(model)`; `rate(step, setup)`; `CLIP`, the greatest norm or None.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn


class Setup(NamedTuple):
    """Knobs that are numbers, initial weights by our paths, and the steps of the run."""

    knobs: dict[str, Any]
    weights: dict[str, Any]
    steps: int


class Place(NamedTuple):
    """Where a weight of ours goes, and how it is turned."""

    parameter: nn.Parameter
    turn: str = ""


TURNS = {"linear": (1, 0), "conv": (3, 2, 0, 1), "conv1": (2, 1, 0), "transposed": (2, 3, 0, 1)}
"""(in out) to (out in); (height width in out) to (out in height width), (n in out) likewise; and to
(in out height width)."""


def placed(weight: Any, turn: str) -> Any:
    """A weight of ours in PyTorch's layout."""
    axes = TURNS.get(turn)
    return np.ascontiguousarray(weight if axes is None else weight.transpose(axes))


def linear(path: str, module: nn.Linear) -> dict[str, Place]:
    """The places of `nn:linear` at a path."""
    found = {f"{path}/w": Place(module.weight, "linear")}
    return found if module.bias is None else found | {f"{path}/b": Place(module.bias)}


def conv(path: str, module: nn.Conv2d) -> dict[str, Place]:
    """The places of `nn:conv` at a path."""
    found = {f"{path}/w": Place(module.weight, "conv")}
    return found if module.bias is None else found | {f"{path}/b": Place(module.bias)}


def norm(path: str, module: Any) -> dict[str, Place]:
    """The places of a norm at a path."""
    found = {f"{path}/weight": Place(module.weight)}
    bias = getattr(module, "bias", None)
    return found if bias is None else found | {f"{path}/bias": Place(bias)}


def adamw(model: nn.Module, decay: float, beta2: float = 0.999) -> torch.optim.AdamW:
    """Fused, with decay on what has two axes or more."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": decay},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, beta2), fused=True)


def warmup_cosine(step: int, peak: float, warmup: int, steps: int, floor: float = 0.0) -> float:
    """A line up to the peak at step warmup - 1, then a cosine to the floor at the last step."""
    if step < warmup:
        return peak * (step + 1) / warmup
    share = min(1.0, (step - warmup) / max(1, steps - warmup - 1))
    return floor + 0.5 * (1 + math.cos(math.pi * share)) * (peak - floor)
