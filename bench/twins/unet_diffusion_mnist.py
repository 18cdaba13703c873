"""examples/unet-diffusion-mnist.lisp in PyTorch: a small U-Net that tells noise from picture (Ho et
al. 2020), rates by a cosine (Nichol, Dhariwal 2021), in the terms of v (Salimans, Ho 2022); of one
picture in ten the digit is not told (Ho, Salimans 2022). Its random numbers are given."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, conv, linear, norm, warmup_cosine

CLIP = 1.0
GROUPS = 8
NONE, UNTOLD = 10, 0.1
"""The label of a picture of which none is told, and the share of those."""


class Block(nn.Module):
    """(b i h w) and an embedding (b d) to (b o h w)."""

    def __init__(self, i: int, o: int, d: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(GROUPS, i)
        self.conv = nn.Conv2d(i, o, 3, padding=1)
        self.time = nn.Linear(d, o)
        self.norm2 = nn.GroupNorm(GROUPS, o)
        self.conv2 = nn.Conv2d(o, o, 3, padding=1)
        self.shortcut = None if i == o else nn.Conv2d(i, o, 1, bias=False)

    def forward(self, x: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        y = self.conv(F.silu(self.norm(x))) + self.time(F.silu(c))[:, :, None, None]
        y = self.conv2(F.silu(self.norm2(y)))
        return y + (x if self.shortcut is None else self.shortcut(x))


class Unet(nn.Module):
    """Bytes (b 28 28), labels, times (b), normal numbers (b 28 28 1) and uniform ones (b) that say
    whose label is told, to the mean squared error."""

    def __init__(self, width: int) -> None:
        super().__init__()
        w, d = width, 4 * width
        self.width = d
        self.maps = nn.ModuleList((nn.Linear(d, d), nn.Linear(d, d)))
        self.labels = nn.Embedding(NONE + 1, d)
        self.first, self.shrink = nn.Conv2d(1, w, 2, 2), nn.Conv2d(w, w, 3, 2, 1)
        sizes = ((w, w), (w, 2 * w), (2 * w, 2 * w), (2 * w, 2 * w), (3 * w, w), (w, w))
        self.blocks = nn.ModuleList(Block(i, o, d) for i, o in sizes)
        self.norm = nn.GroupNorm(GROUPS, w)
        self.last = nn.ConvTranspose2d(w, 1, 2, 2)

    def direction(self, x: torch.Tensor, time: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        size = self.width // 2
        rate = torch.exp(torch.arange(size, device=x.device) * (-math.log(10000) / size))
        angle = 1000 * time[:, None] * rate
        c = torch.cat((angle.sin(), angle.cos()), dim=1)
        c = self.maps[1](F.silu(self.maps[0](c))) + self.labels(label)
        down, smaller, middle, middle2, up, again = self.blocks
        fine = down(self.first(x), c)
        y = middle2(middle(smaller(self.shrink(fine), c), c), c)
        y = up(torch.cat((F.interpolate(y, size=fine.shape[2:]), fine), 1), c)
        out: torch.Tensor = self.last(F.silu(self.norm(again(y, c))))
        return out

    def forward(
        self,
        image: torch.Tensor,
        label: torch.Tensor,
        random_uniform_1: torch.Tensor,
        random_normal_1: torch.Tensor,
        random_bernoulli_1: torch.Tensor,
    ) -> torch.Tensor:
        picture = image.float().unsqueeze(1) / 127.5 - 1
        noise = random_normal_1.reshape(picture.shape)  # one channel: the same numbers
        told = torch.where(random_bernoulli_1 < UNTOLD, NONE, label)
        angle = (math.pi / 2 * (0.01 + 0.98 * random_uniform_1))[:, None, None, None]
        signal, spread = angle.cos(), angle.sin()
        found = self.direction(signal * picture + spread * noise, random_uniform_1, told)
        return F.mse_loss(found, signal * noise - spread * picture)


def build(setup: Setup) -> Unet:
    return Unet(setup.knobs["width"])


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def places(model: Unet) -> dict[str, Place]:
    found = norm("unet/group-norm", model.norm)
    found |= conv("unet/conv", model.first) | conv("unet/conv-2", model.shrink)
    found["unet/embedding/w"] = Place(model.labels.weight)
    found["unet/conv-transpose/w"] = Place(model.last.weight, "transposed")
    found["unet/conv-transpose/b"] = Place(model.last.bias)
    for number, at in enumerate(model.maps, 1):
        map: Any = at
        found |= linear(_numbered("unet/linear", number), map)
    for number, made in enumerate(model.blocks, 1):
        block: Any = made
        path = _numbered("unet/unet-block", number)
        found |= norm(f"{path}/group-norm", block.norm) | norm(f"{path}/group-norm-2", block.norm2)
        found |= conv(f"{path}/conv", block.conv) | conv(f"{path}/conv-2", block.conv2)
        found |= linear(f"{path}/time", block.time)
        if block.shortcut is not None:
            found |= conv(f"{path}/shortcut", block.shortcut)
    return found


def optimizer(model: nn.Module) -> Any:
    return torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 100, setup.steps)
