"""examples/resnet-mnist.lisp in PyTorch: ResNet-18's blocks (He et al. 2015), with the first
convolution of size 3 and no pool after it, as for small pictures; SGD with Nesterov's momentum."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, conv, linear, norm, warmup_cosine

CLIP = None
SIZES = 4


class Block(nn.Module):
    """(b i h w) -> (b o h/stride w/stride)."""

    def __init__(self, i: int, o: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(i, o, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(o, o, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(o)
        self.norm2 = nn.BatchNorm2d(o)
        same = stride == 1 and i == o
        self.shortcut = None if same else nn.Conv2d(i, o, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm(self.conv(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class Resnet(nn.Module):
    """Bytes (b 28 28) and labels to the mean cross-entropy."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        found, before = {}, width
        for size in range(SIZES):
            for i in range(blocks):
                wide, stride = width << size, 2 if size and not i else 1
                found[f"{size}/{i}"] = Block(before, wide, stride)
                before = wide
        self.paths = list(found)
        self.blocks = nn.ModuleList(found.values())
        self.head = nn.Linear(before, 10)

    def forward(self, image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.norm(self.conv(image.float().unsqueeze(1) / 255)))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(x.mean((2, 3))), label)


def build(setup: Setup) -> Resnet:
    return Resnet(setup.knobs["width"], setup.knobs["blocks"])


def places(model: Resnet) -> dict[str, Place]:
    found = conv("resnet/conv", model.conv) | norm("resnet/batch-norm", model.norm)
    for path, module in zip(model.paths, model.blocks):
        at, block = f"resnet/{path}", module
        assert isinstance(block, Block)
        found |= conv(f"{at}/conv", block.conv) | norm(f"{at}/norm", block.norm)
        found |= conv(f"{at}/conv-2", block.conv2) | norm(f"{at}/norm-2", block.norm2)
        if block.shortcut is not None:
            found |= conv(f"{at}/shortcut", block.shortcut)
    return found | linear("resnet/linear", model.head)


def optimizer(model: nn.Module) -> Any:
    parameters = list(model.parameters())
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": 5e-4},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.SGD(groups, lr=0.1, momentum=0.9, nesterov=True, fused=True)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 100, setup.steps)
