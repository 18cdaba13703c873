"""examples/vae-mnist.lisp in PyTorch: a variational autoencoder (Kingma, Welling 2013), three
linear maps each way, pixels as Bernoulli variables. Its normal numbers are given."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, linear, warmup_cosine

CLIP = None


class Vae(nn.Module):
    """Bytes (b 28 28) and normal numbers (b latent) to the mean negative evidence lower bound."""

    def __init__(self, hidden: int, latent: int) -> None:
        super().__init__()
        self.encoder = _layers(784, hidden, 2 * latent)
        self.decoder = _layers(latent, hidden, 784)

    def forward(self, image: torch.Tensor, random_normal_1: torch.Tensor) -> torch.Tensor:
        pixels = image.float().flatten(1) / 255
        mean, log_variance = self.encoder(pixels).chunk(2, dim=1)
        logits = self.decoder(mean + torch.exp(0.5 * log_variance) * random_normal_1)
        rebuilt = F.binary_cross_entropy_with_logits(logits, pixels, reduction="sum")
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum()
        return (rebuilt + kl) / len(image)


def _layers(*sizes: int) -> nn.Sequential:
    first, hidden, last = sizes
    return nn.Sequential(
        nn.Linear(first, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
        nn.Linear(hidden, last),
    )  # fmt: skip


def build(setup: Setup) -> Vae:
    return Vae(setup.knobs["hidden"], setup.knobs["latent"])


def places(model: Vae) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for name in ("encoder", "decoder"):
        maps = [m for m in getattr(model, name) if isinstance(m, nn.Linear)]
        for number, module in enumerate(maps, 1):
            end = "" if number == 1 else f"-{number}"
            found |= linear(f"{name}/layers/linear{end}", module)
    return found


def optimizer(model: nn.Module) -> Any:
    return torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 100, setup.steps)
