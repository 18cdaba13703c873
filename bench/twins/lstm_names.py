"""examples/lstm-names.lisp in PyTorch: layers of LSTM cells (Hochreiter, Schmidhuber 1997) by
`nn.LSTM`, whose two biases of a layer are one: the second is left out of training."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - torch's own usage

from . import Place, Setup, adamw, linear, warmup_cosine

CLIP = 1.0


class Lstm(nn.Module):
    """Tokens (b, n) and their weights to the weighted mean cross-entropy of each."""

    def __init__(self, vocabulary: int, depth: int, d: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.lstm = nn.LSTM(d, d, depth, batch_first=True)
        self.head = nn.Linear(d, vocabulary)
        for name, parameter in self.lstm.named_parameters():
            if name.startswith("bias_hh"):
                nn.init.zeros_(parameter.requires_grad_(False))

    def forward(self, tokens: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        before = F.pad(tokens[:, :-1], (1, 0))
        logits = self.head(self.lstm(self.embedding(before))[0])
        each = F.cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction="none")
        return (each * weights.flatten()).sum() / weights.sum()


def build(setup: Setup) -> Lstm:
    vocabulary, d = setup.weights["network/embedding/w"].shape
    return Lstm(vocabulary, setup.knobs["depth"], d)


def places(model: Lstm) -> dict[str, Place]:
    """Both have the gates in order i f g o."""
    found = {"network/embedding/w": Place(model.embedding.weight)}
    parts: dict[str, Any] = dict(model.lstm.named_parameters())
    for i in range(model.lstm.num_layers):
        path = f"network/stacked/layer/{i}"
        found[f"{path}/w"] = Place(parts[f"weight_ih_l{i}"], "linear")
        found[f"{path}/u"] = Place(parts[f"weight_hh_l{i}"], "linear")
        found[f"{path}/b"] = Place(parts[f"bias_ih_l{i}"])
    return found | linear("network/linear", model.head)


def optimizer(model: nn.Module) -> Any:
    return adamw(model, 0.01)


def rate(step: int, setup: Setup) -> float:
    return warmup_cosine(step, setup.knobs["lr"], 100, setup.steps)
