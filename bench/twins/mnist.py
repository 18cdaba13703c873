"""examples/mnist.lisp in PyTorch: two convolutions with pools, two linear maps."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, conv, linear, warmup_cosine

CLIP = None


class Mnist(nn.Module):
    """Bytes (b 28 28) and labels to the mean cross-entropy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.second = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.Linear(2 * width * 49, 128)
        self.head = nn.Linear(128, 10)

    def forward(self, image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        x = image.float().unsqueeze(1) / 255
        x = F.max_pool2d(F.relu(self.first(x)), 2)
        x = F.max_pool2d(F.relu(self.second(x)), 2)
        # Channels last, as our flatten sees them: then the weights of `up` are the same.
        x = F.relu(self.up(x.permute(0, 2, 3, 1).flatten(1)))
        return F.cross_entropy(self.head(x), label)


def build(setup: Setup) -> Mnist:
    return Mnist(setup.knobs["width"])


def places(model: Mnist) -> dict[str, Place]:
    return {
        **conv("network/first/conv", model.first),
        **conv("network/second/conv", model.second),
        **linear("network/linear", model.up),
        **linear("network/linear-2", model.head),
    }


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.05)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 50, setup.steps)
