"""examples/digits.lisp in PyTorch: pixels to two hidden layers to ten digits."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, linear, warmup_cosine

CLIP = None


class Digits(nn.Module):
    """Pixels 0 to 16 and labels to the mean cross-entropy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        sizes = [(64, width), (width, width), (width, 10)]
        self.layers = nn.ModuleList(nn.Linear(*s) for s in sizes)

    def forward(self, image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        x = image / 16
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return F.cross_entropy(self.layers[-1](x), label)


def build(setup: Setup) -> Digits:
    return Digits(setup.knobs["width"])


def places(model: Digits) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for i, layer in enumerate(model.layers, 1):
        found |= linear(f"classifier/layers/linear{'' if i == 1 else f'-{i}'}", layer)  # type: ignore[arg-type]
    return found


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.01)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 20, setup.steps)
