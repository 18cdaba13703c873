"""examples/moe-chars.lisp in PyTorch: a Llama's attention, for its feed-forward the likeliest two
of some experts (Shazeer et al. 2017; Jiang et al. 2024), each on the tokens that chose it; balance
loss of Fedus et al. 2021, z-loss of Zoph et al. 2022."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, linear, norm, warmup_cosine
from .llama_chars import rotated, turns

CLIP = 1.0
Losses = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Experts(nn.Module):
    """Tokens (t, d) to theirs, the balance loss and the z-loss."""

    def __init__(self, d: int, experts: int, top: int, hidden: int) -> None:
        super().__init__()
        self.top, self.experts = top, experts
        self.router = nn.Linear(d, experts, bias=False)
        self.gate = nn.Parameter(torch.zeros(experts, d, hidden))
        self.up = nn.Parameter(torch.zeros(experts, d, hidden))
        self.down = nn.Parameter(torch.zeros(experts, hidden, d))

    def forward(self, x: torch.Tensor) -> Losses:
        logits = self.router(x)
        p = logits.softmax(-1)
        weights, index = p.topk(self.top, -1)
        weights = weights / weights.sum(-1, keepdim=True)
        y = torch.zeros_like(x)
        for e in range(self.experts):
            token, rank = torch.where(index == e)
            z = x[token]
            h = F.silu(z @ self.gate[e]) * (z @ self.up[e])
            y = y.index_add(0, token, weights[token, rank, None] * (h @ self.down[e]))
        chosen = F.one_hot(index, self.experts).sum(1).float().mean(0)
        balance = self.experts / self.top * (chosen * p.mean(0)).sum()
        return y, balance, logits.logsumexp(-1).square().mean()


class Block(nn.Module):
    """(b, n, d) -> (b, n, d), and the losses."""

    def __init__(self, d: int, heads: int, **experts: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.norm2 = nn.RMSNorm(d, eps=1e-6)
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.moe = Experts(d, **experts)

    def forward(self, x: torch.Tensor, turn: tuple[torch.Tensor, torch.Tensor]) -> Losses:
        b, n, d = x.shape
        parts = self.qkv(self.norm(x)).view(b, n, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        q, k = rotated(q, turn), rotated(k, turn)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        y, balance, z = self.moe(self.norm2(x).flatten(0, 1))
        return x + y.view(b, n, d), balance, z


class Gpt(nn.Module):
    """Tokens (b, n + 1) to the mean cross-entropy of each after the first, and what it costs to
    send them unevenly."""

    def __init__(self, vocabulary: int, depth: int, context: int, factors: tuple[float, float],
                 block: dict[str, int]) -> None:  # fmt: skip
        super().__init__()
        d = block["d"]
        self.factors = factors
        self.embedding = nn.Embedding(vocabulary, d)
        self.blocks = nn.ModuleList(Block(**block) for _ in range(depth))
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.head = nn.Linear(d, vocabulary, bias=False)
        cos, sin = turns(context, d // block["heads"] // 2)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens[:, :-1])
        beside = torch.zeros(())
        for block in self.blocks:
            x, balance, z = block(x, (self.cos, self.sin))
            beside = beside + self.factors[0] * balance + self.factors[1] * z
        logits = self.head(self.norm(x))
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].reshape(-1))
        return loss + beside / len(self.blocks)


def build(setup: Setup) -> Gpt:
    knobs = setup.knobs
    vocabulary, d = setup.weights["gpt/embedding/w"].shape
    block = {"d": d, **{n: knobs[n] for n in ("heads", "experts", "top", "hidden")}}
    factors = (knobs["balance"], knobs["z"])
    return Gpt(vocabulary, knobs["depth"], knobs["context"], factors, block)


def places(model: Gpt) -> dict[str, Place]:
    found = {"gpt/embedding/w": Place(model.embedding.weight)}
    for i, block in enumerate(model.blocks):
        at: Any = block
        path = f"gpt/h/{i}"
        found |= norm(f"{path}/rms-norm", at.norm) | norm(f"{path}/rms-norm-2", at.norm2)
        found |= linear(f"{path}/attention/qkv", at.qkv) | linear(f"{path}/attention/out", at.out)
        found |= linear(f"{path}/moe/router", at.moe.router)
        for name in ("gate", "up", "down"):
            found[f"{path}/moe/{name}/w"] = Place(getattr(at.moe, name))
    return found | norm("gpt/rms-norm", model.norm) | linear("gpt/linear", model.head)


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.1, beta2=0.95)


def rate(step: int, setup: Setup) -> float:
    peak = setup.knobs["lr"]
    return warmup_cosine(step, peak, 100, setup.steps, peak / 10)
