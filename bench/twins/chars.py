"""The GPT of `examples/chars.lisp` in PyTorch.

The same mathematics as nanoGPT's CPU experiment: pre-norm blocks without biases, exact GELU, tied
head, AdamW with decay on matrices only. `by_path` maps our parameters' paths to its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, warmup_cosine

CLIP = 1.0


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
    """Tokens (b, n + 1) to the mean cross-entropy of each after the first."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.wte = nn.Embedding(shape.vocabulary, shape.width)
        self.wpe = nn.Embedding(shape.context, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.depth))
        self.norm = nn.LayerNorm(shape.width, bias=False)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0, 0.02)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        tokens, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.wte.weight.T
        return F.cross_entropy(logits.flatten(0, 1), targets.reshape(-1))


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


def build(setup: Setup) -> Gpt:
    sizes = {n: setup.knobs[n] for n in ("depth", "width", "heads", "context")}
    vocabulary = setup.weights["gpt/wte"].shape[0]
    return Gpt(Shape(**sizes, batch=setup.knobs["batch-size"], vocabulary=vocabulary))


def places(model: Gpt) -> dict[str, Place]:
    turn = lambda path: "linear" if path.endswith("/w") else ""
    return {path: Place(p, turn(path)) for path, p in by_path(model).items()}


def optimizer(model: nn.Module) -> torch.optim.AdamW:
    """AdamW as the experiment has it: decay 0.1 on matrices, none on vectors."""
    return adamw(model, 0.1, beta2=0.99)


def rate(step: int, setup: Setup) -> float:
    """Warm-up over 100 steps, then cosine to a tenth at the last step."""
    peak = setup.knobs["lr"]
    return warmup_cosine(step, peak, 100, setup.steps, peak / 10)
