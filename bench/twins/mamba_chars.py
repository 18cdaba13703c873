"""examples/mamba-chars.lisp in PyTorch: Mamba (Gu, Dao 2023), the selective scan (algorithm 2) as a
loop over places, which is what PyTorch has without a kernel of its own for it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, linear, norm, warmup_cosine

CLIP = 1.0
KERNEL = 4


class Block(nn.Module):
    """(b, n, d) -> (b, n, d)."""

    def __init__(self, d: int, inner: int, rank: int, size: int) -> None:
        super().__init__()
        self.parts = (rank, size, size)
        self.norm = nn.RMSNorm(d, eps=1e-6)
        self.enter = nn.Linear(d, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, KERNEL, groups=inner, padding=KERNEL - 1)
        self.select = nn.Linear(inner, rank + 2 * size, bias=False)
        self.dt = nn.Linear(rank, inner)
        self.a_log = nn.Parameter(torch.zeros(inner, size))
        self.skip = nn.Parameter(torch.ones(inner))
        self.leave = nn.Linear(inner, d, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.shape[1]
        u, gate = self.enter(self.norm(x)).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[..., :n].transpose(1, 2))
        dt, b, c = self.select(u).split(self.parts, -1)
        dt = F.softplus(self.dt(dt))
        a = -self.a_log.exp()
        kept = torch.exp(dt[..., None] * a)
        new = (dt * u)[..., None] * b[..., None, :]
        h = torch.zeros_like(new[:, 0])
        found = []
        for at in range(n):
            h = kept[:, at] * h + new[:, at]
            found.append((h * c[:, at, None, :]).sum(-1))
        y = torch.stack(found, 1) + self.skip * u
        return x + self.leave(y * F.silu(gate))


class Mamba(nn.Module):
    """Tokens (b, n + 1) to the mean cross-entropy of each after the first."""

    def __init__(self, vocabulary: int, depth: int, block: dict[str, int]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, block["d"])
        self.blocks = nn.ModuleList(Block(**block) for _ in range(depth))
        self.norm = nn.RMSNorm(block["d"], eps=1e-6)
        self.head = nn.Linear(block["d"], vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens[:, :-1])
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].reshape(-1))


def build(setup: Setup) -> Mamba:
    vocabulary, d = setup.weights["mamba/embedding/w"].shape
    rank, inner = setup.weights["mamba/h/0/mamba/dt/w"].shape
    block = {"d": d, "inner": inner, "rank": rank, "size": setup.knobs["state-size"]}
    return Mamba(vocabulary, setup.knobs["depth"], block)


def places(model: Mamba) -> dict[str, Place]:
    found = {"mamba/embedding/w": Place(model.embedding.weight)}
    for i, block in enumerate(model.blocks):
        at: Any = block
        path = f"mamba/h/{i}"
        found |= norm(f"{path}/rms-norm", at.norm)
        names = {"in": at.enter, "x": at.select, "dt": at.dt, "out": at.leave}
        for name, module in names.items():
            found |= linear(f"{path}/mamba/{name}", module)
        found[f"{path}/mamba/conv/w"] = Place(at.conv.weight, "conv1")
        found[f"{path}/mamba/conv/b"] = Place(at.conv.bias)
        found[f"{path}/mamba/a-log"] = Place(at.a_log)
        found[f"{path}/mamba/skip"] = Place(at.skip)
    return found | norm("mamba/rms-norm", model.norm) | linear("mamba/linear", model.head)


def optimizer(model: nn.Module) -> Any:
    """No decay on the logarithms of a either."""
    found = adamw(model, 0.1, beta2=0.95)
    logs = {id(p) for name, p in model.named_parameters() if name.endswith("a_log")}
    matrices, vectors = found.param_groups
    vectors["params"] += [p for p in matrices["params"] if id(p) in logs]
    matrices["params"] = [p for p in matrices["params"] if id(p) not in logs]
    return found


def rate(step: int, setup: Setup) -> float:
    peak = setup.knobs["lr"]
    return warmup_cosine(step, peak, 100, setup.steps, peak / 10)
