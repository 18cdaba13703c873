"""examples/llama-chars.lisp in PyTorch: Llama (Touvron et al. 2023) with grouped heads (Ainslie et
al. 2023), rotary positions by halves (Su et al. 2021) and SwiGLU (Shazeer 2020)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, linear, norm, warmup_cosine

CLIP = 1.0


class Block(nn.Module):
    """(b, n, d) -> (b, n, d)."""

    def __init__(self, d: int, heads: int, kv_heads: int, hidden: int) -> None:
        super().__init__()
        self.sizes = (heads, kv_heads, d // heads)
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.norm2 = nn.RMSNorm(d, eps=1e-6)
        self.qkv = nn.Linear(d, (heads + 2 * kv_heads) * (d // heads), bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.gate = nn.Linear(d, hidden, bias=False)
        self.up = nn.Linear(d, hidden, bias=False)
        self.down = nn.Linear(hidden, d, bias=False)

    def forward(self, x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        b, n, d = x.shape
        heads, kv_heads, e = self.sizes
        parts = self.qkv(self.norm(x)).view(b, n, -1, e).transpose(1, 2)
        q, k, v = parts.split((heads, kv_heads, kv_heads), 1)
        q, k = rotated(q, turn), rotated(k, turn)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        z = self.norm2(x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z))


def rotated(x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Both halves of each head turned by the angles of its place."""
    cos, sin = turn
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


def turns(context: int, half: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines (context half) of the angles of each place."""
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(context, dtype=torch.float64)[:, None] * rates
    return angles.cos().float(), angles.sin().float()


class Llama(nn.Module):
    """Tokens (b, n + 1) to the mean cross-entropy of each after the first."""

    def __init__(self, vocabulary: int, depth: int, context: int, block: dict[str, int]) -> None:
        super().__init__()
        d = block["d"]
        self.embedding = nn.Embedding(vocabulary, d)
        self.blocks = nn.ModuleList(Block(**block) for _ in range(depth))
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.head = nn.Linear(d, vocabulary, bias=False)
        cos, sin = turns(context, d // block["heads"] // 2)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens[:, :-1])
        for block in self.blocks:
            x = block(x, (self.cos, self.sin))
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].reshape(-1))


def build(setup: Setup) -> Llama:
    knobs = setup.knobs
    vocabulary, d = setup.weights["llama/embedding/w"].shape
    hidden = setup.weights["llama/h/0/gated-mlp/up/w"].shape[1]
    block = {"d": d, "heads": knobs["heads"], "kv_heads": knobs["kv-heads"], "hidden": hidden}
    return Llama(vocabulary, knobs["depth"], knobs["context"], block)


def places(model: Llama) -> dict[str, Place]:
    found = {"llama/embedding/w": Place(model.embedding.weight)}
    for i, block in enumerate(model.blocks):
        at: Any = block
        path = f"llama/h/{i}"
        found |= norm(f"{path}/rms-norm", at.norm) | norm(f"{path}/rms-norm-2", at.norm2)
        found |= linear(f"{path}/attention/qkv", at.qkv) | linear(f"{path}/attention/out", at.out)
        for name in ("gate", "up", "down"):
            found |= linear(f"{path}/gated-mlp/{name}", getattr(at, name))
    return found | norm("llama/rms-norm", model.norm) | linear("llama/linear", model.head)


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.1, beta2=0.95)


def rate(step: int, setup: Setup) -> float:
    peak = setup.knobs["lr"]
    return warmup_cosine(step, peak, 100, setup.steps, peak / 10)
