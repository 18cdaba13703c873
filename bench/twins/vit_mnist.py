"""examples/vit-mnist.lisp in PyTorch: ViT (Dosovitskiy et al. 2020), pre-norm, the mean of all
patches to a linear head."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, linear, norm, warmup_cosine

CLIP = 1.0


class Block(nn.Module):
    """(b, n, d) -> (b, n, d)."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        parts = self.qkv(self.norm(x)).view(b, n, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Vit(nn.Module):
    """Bytes (b 28 28) and labels to the mean cross-entropy."""

    def __init__(self, patch: int, depth: int, d: int, heads: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(1, d, patch, stride=patch)
        self.positions = nn.Parameter(torch.zeros((28 // patch) ** 2, d))
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 10)

    def forward(self, image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        x = self.patches(image.float().unsqueeze(1) / 255).flatten(2).transpose(1, 2)
        x = x + self.positions
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x).mean(1)), label)


def build(setup: Setup) -> Vit:
    knobs = setup.knobs
    return Vit(knobs["patch"], knobs["depth"], knobs["width"], knobs["heads"])


def places(model: Vit) -> dict[str, Place]:
    patches: Any = model.patches
    found = {
        "vit/patch-embedding/w": Place(patches.weight, "conv"),
        "vit/patch-embedding/b": Place(patches.bias),
        "vit/position-embedding/w": Place(model.positions),
    }
    for i, block in enumerate(model.blocks):
        at: Any = block
        path = f"vit/transformer/h/{i}"
        found |= norm(f"{path}/norm", at.norm) | norm(f"{path}/norm-2", at.norm2)
        found |= linear(f"{path}/attention/qkv", at.qkv) | linear(f"{path}/attention/out", at.out)
        found |= linear(f"{path}/mlp/up", at.up) | linear(f"{path}/mlp/down", at.down)
    return found | norm("vit/transformer/norm", model.norm) | linear("vit/linear", model.head)


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.05)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 100, setup.steps)
