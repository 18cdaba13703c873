"""examples/bert-mlm.lisp in PyTorch: BERT's encoder and masked language model (Devlin et al. 2018),
post-norm, GELU, a head on the embedding's own weights. Its random numbers are given."""

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
        parts = self.qkv(x).view(b, n, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        x = self.norm(x + self.out(y.transpose(1, 2).reshape(b, n, d)))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Bert(nn.Module):
    """Tokens (b, n) and three draws of their shape to the mean cross-entropy of chosen places."""

    def __init__(self, vocabulary: int, share: float, depth: int, d: int, heads: int,
                 context: int) -> None:  # fmt: skip
        super().__init__()
        self.vocabulary, self.share = vocabulary, share
        self.embedding = nn.Embedding(vocabulary + 1, d)
        self.positions = nn.Parameter(torch.zeros(context, d))
        self.norm = nn.LayerNorm(d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(depth))
        self.turn = nn.Linear(d, d)
        self.norm2 = nn.LayerNorm(d)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def masked(self, tokens: torch.Tensor, fate: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        any_token = (other * self.vocabulary).floor().long().clamp_max(self.vocabulary - 1)
        found = torch.where(fate < 0.9, any_token, tokens)
        return torch.where(fate < 0.8, self.vocabulary, found)

    def forward(
        self, tokens: torch.Tensor, random_uniform_1: torch.Tensor,
        random_uniform_2: torch.Tensor, random_int_1: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        chosen = random_uniform_1 < self.share
        inputs = torch.where(chosen, self.masked(tokens, random_uniform_2, random_int_1), tokens)
        x = self.norm(self.embedding(inputs) + self.positions[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        x = self.norm2(F.gelu(self.turn(x)))
        logits = x @ self.embedding.weight[: self.vocabulary].T + self.bias
        each = F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction="none")
        return (each * chosen.flatten()).sum() / chosen.sum()


def build(setup: Setup) -> Bert:
    knobs = setup.knobs
    rows, d = setup.weights["bert/wte"].shape
    context = setup.weights["bert/position-embedding/w"].shape[0]
    return Bert(rows - 1, knobs["share"], knobs["depth"], d, knobs["heads"], context)


def places(model: Bert) -> dict[str, Place]:
    found = {
        "bert/wte": Place(model.embedding.weight),
        "bert/bias": Place(model.bias),
        "bert/position-embedding/w": Place(model.positions),
        **norm("bert/norm", model.norm),
        **norm("bert/norm-2", model.norm2),
        **linear("bert/linear", model.turn),
    }
    for i, block in enumerate(model.blocks):
        at: Any = block
        path = f"bert/transformer/h/{i}"
        found |= norm(f"{path}/norm", at.norm) | norm(f"{path}/norm-2", at.norm2)
        found |= linear(f"{path}/attention/qkv", at.qkv) | linear(f"{path}/attention/out", at.out)
        found |= linear(f"{path}/mlp/up", at.up) | linear(f"{path}/mlp/down", at.down)
    return found


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.01, beta2=0.98)


def rate(step: int, setup: Setup) -> float:
    peak = setup.knobs["lr"]
    return warmup_cosine(step, peak, 100, setup.steps, peak / 10)
