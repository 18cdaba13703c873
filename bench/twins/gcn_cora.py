"""examples/gcn-cora.lisp in PyTorch: two graph convolutions (Kipf, Welling 2016), the normalized
adjacency as a sparse matrix made once, decay coupled and of the first layer alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup

CLIP = None


class Gcn(nn.Module):
    """Words (n w), edges (e 2), labels (n) and a mask (n) to the mean over the mask."""

    def __init__(self, words: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(words, hidden))
        self.second = nn.Parameter(torch.zeros(hidden, classes))
        self.shares: torch.Tensor | None = None

    def adjacency(self, edges: torch.Tensor, n: int) -> torch.Tensor:
        """With the nodes' own edges, each by the roots of both degrees."""
        if self.shares is None:
            own = torch.arange(n)
            index = torch.stack((torch.cat((edges[:, 1], own)), torch.cat((edges[:, 0], own))))
            root = torch.bincount(index[0], minlength=n).float().rsqrt()
            values = root[index[0]] * root[index[1]]
            self.shares = torch.sparse_coo_tensor(index, values, (n, n)).coalesce().to_sparse_csr()
        return self.shares

    def forward(
        self, features: torch.Tensor, edges: torch.Tensor, labels: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        words = features.float()
        words = words / words.sum(1, keepdim=True).clamp_min(1)
        shares = self.adjacency(edges, len(words))
        logits = shares @ (F.relu(shares @ (words @ self.first)) @ self.second)
        each = F.cross_entropy(logits, labels, reduction="none")
        return (each * mask).sum() / mask.sum()


def build(setup: Setup) -> Gcn:
    words, hidden = setup.weights["gcn/first/w"].shape
    return Gcn(words, hidden, setup.weights["gcn/second/w"].shape[1])


def places(model: Gcn) -> dict[str, Place]:
    return {"gcn/first/w": Place(model.first), "gcn/second/w": Place(model.second)}


def optimizer(model: Any) -> Any:
    groups = [
        {"params": [model.first], "weight_decay": 5e-4},
        {"params": [model.second], "weight_decay": 0.0},
    ]
    return torch.optim.Adam(groups, lr=1e-2, fused=True)


def rate(step: int, setup: Setup) -> float:
    return float(setup.knobs["lr"])
