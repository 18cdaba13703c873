"""examples/dlrm.lisp in PyTorch: DLRM (Naumov et al. 2019), products of embeddings and of the dense
numbers' map, and a network on top. Its random numbers are given; clicks are made of them."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, linear, warmup_cosine

CLIP = None
MINE = (7919, 6101, 4999, 3571, 2287)
THEIRS = (7307, 5737, 4211, 2903)


def popular(u: torch.Tensor, n: int) -> torch.Tensor:
    return (n * u.square()).long().clamp_max(n - 1)


def tastes(ids: torch.Tensor, factors: tuple[int, ...]) -> torch.Tensor:
    spread = (ids + 1)[:, None] * torch.tensor(factors) % 10007
    return spread.float() / 5003.5 - 1


class Dlrm(nn.Module):
    """Four draws of a row each to the mean binary cross-entropy of the clicks."""

    def __init__(self, users: int, items: int, d: int) -> None:
        super().__init__()
        self.sizes = (users, items)
        self.user, self.item, self.hour = (nn.Embedding(n, d) for n in (users, items, 24))
        self.bottom = nn.ModuleList((nn.Linear(2, 32), nn.Linear(32, d)))
        sizes = (d + 6, 64, 32, 1)
        self.top = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.register_buffer("pairs", torch.tril_indices(4, 4, -1), persistent=False)

    def forward(
        self, random_uniform_1: torch.Tensor, random_uniform_2: torch.Tensor,
        random_int_1: torch.Tensor, random_uniform_3: torch.Tensor,
    ) -> torch.Tensor:  # fmt: skip
        user = popular(random_uniform_1, self.sizes[0])
        item = popular(random_uniform_2, self.sizes[1])
        hour = (random_int_1 * 24).long().clamp_max(23)
        angle = math.pi / 12 * hour.float()
        mine = tastes(user, MINE)
        common = (mine[:, :4] * tastes(item, THEIRS)).sum(1)
        chance = torch.sigmoid(2 * common + 2 * mine[:, 4] * angle.cos() - 1)
        logit = self.scores(user, item, hour, torch.stack((angle.sin(), angle.cos()), 1))
        return F.binary_cross_entropy_with_logits(logit, (random_uniform_3 < chance).float())

    def scores(
        self, user: torch.Tensor, item: torch.Tensor, hour: torch.Tensor, dense: torch.Tensor
    ) -> torch.Tensor:
        bottom = F.relu(self.bottom[1](F.relu(self.bottom[0](dense))))
        rows = torch.stack((bottom, self.user(user), self.item(item), self.hour(hour)), 1)
        products = (rows @ rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        x = torch.cat((bottom, products), 1)
        x = F.relu(self.top[1](F.relu(self.top[0](x))))
        return self.top[2](x)[:, 0]


def build(setup: Setup) -> Dlrm:
    return Dlrm(*(setup.knobs[n] for n in ("users", "items", "width")))


def places(model: Dlrm) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for name in ("user", "item", "hour"):
        found[f"dlrm/{name}/w"] = Place(getattr(model, name).weight)
    for name in ("bottom", "top"):
        for i, layer in enumerate(getattr(model, name), 1):
            found |= linear(f"dlrm/{name}/linear{'' if i == 1 else f'-{i}'}", layer)
    return found


def optimizer(model: nn.Module) -> Any:
    return torch.optim.Adam(model.parameters(), lr=5e-3, fused=True)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 100, setup.steps)
