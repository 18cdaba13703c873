"""The GPT of `examples/chars.lisp` in PyTorch: the other side of the step benchmark and of parity.

The same mathematics as nanoGPT's CPU experiment: pre-norm blocks without biases, exact GELU, tied
head, AdamW with decay on matrices only. `by_path` maps our parameters' paths to its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage


@dataclass(frozen=True)
class Shape:
    """Sizes of the model and of a batch; the defaults are the experiment's."""

    depth: int = 4
    width: int = 128
    heads: int = 4
    context: int = 64
    batch: int = 12
    vocabulary: int = 65


class Block(nn.Module):
    """(b, n, d) -> (b, n, d)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d = shape.width
        self.heads = shape.heads
        self.norm = nn.LayerNorm(d, bias=False)
        self.norm2 = nn.LayerNorm(d, bias=False)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.up = nn.Linear(d, 4 * d, bias=False)
        self.down = nn.Linear(4 * d, d, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, d = x.shape
        parts = self.qkv(self.norm(x)).view(b, n, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Tokens and targets (b, n) to the mean cross-entropy."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.wte = nn.Embedding(shape.vocabulary, shape.width)
        self.wpe = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.depth))
        self.norm = nn.LayerNorm(shape.width, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0, 0.02)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.wte.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


BLOCK = {
    "layer-norm/weight": "norm",
    "attention/qkv/w": "qkv",
    "attention/out/w": "out",
    "layer-norm-2/weight": "norm2",
    "mlp/up/w": "up",
    "mlp/down/w": "down",
}
"""Our path within a block -> the module here that has the weight."""


def by_path(model: Gpt) -> dict[str, nn.Parameter]:
    """Our parameters' paths to the model's. Those that end in /w are ours transposed."""
    found = {"gpt/wte": model.wte.weight, "gpt/wpe": model.wpe.weight}
    for i, block in enumerate(model.blocks):
        for path, name in BLOCK.items():
            found[f"gpt/h/{i}/{path}"] = getattr(block, name).weight
    found["gpt/layer-norm/weight"] = model.norm.weight
    return found


def optimizer(model: nn.Module) -> torch.optim.AdamW:
    """AdamW as the experiment has it: decay 0.1 on matrices, none on vectors."""
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99), fused=True)


def learning_rate(step: int) -> float:
    """Warm-up over 100 steps, then cosine from 1e-3 to 1e-4 at step 2,000."""
    if step < 100:
        return 1e-3 * (step + 1) / 100
    return 1e-4 + 0.5 * (1 + math.cos(math.pi * (step - 100) / 1900)) * 9e-4
