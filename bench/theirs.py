"""PyTorch's side: a twin from our weights, steps by eager or `torch.compile`, fused optimizers."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .twins import Setup, placed


def setup_of(folder: Path) -> Setup:
    """What `ours.export` wrote."""
    with np.load(folder / "knobs.npz") as found:
        knobs = {name: found[name].item() for name in found.files}
    with np.load(folder / "weights.npz") as found:
        weights = {name: found[name] for name in found.files}
    return Setup(knobs, weights, int(knobs.pop("steps_of_run")))


class Theirs:
    """A twin with our initial weights."""

    def __init__(
        self, name: str, setup: Setup, mode: str = "eager", *, channels_last: bool = False,
        device: str = "cpu",
    ) -> None:  # fmt: skip
        self.twin: Any = importlib.import_module(f".twins.{name.replace('-', '_')}", __package__)
        self.setup, self.device = setup, device
        model = self.twin.build(setup)
        self._load(model)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        model = model.to(device=device, memory_format=layout)
        self.parameters = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = self.twin.optimizer(model)
        self.call = torch.compile(model, fullgraph=True) if mode == "compile" else model

    def _load(self, model: Any) -> None:
        places = self.twin.places(model)
        assert set(places) == set(self.setup.weights), set(places) ^ set(self.setup.weights)
        with torch.no_grad():
            for path, (parameter, turn) in places.items():
                parameter.copy_(torch.from_numpy(placed(self.setup.weights[path], turn)))

    def step(self, at: int, batch: dict[str, torch.Tensor]) -> float:
        """The loss of a step, which is taken."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.twin.rate(at, self.setup)
        loss = self.call(**batch)
        self.optimizer.zero_grad()
        loss.backward()
        if self.twin.CLIP is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.twin.CLIP)
        self.optimizer.step()
        return float(loss.item())

    def batch(self, fields: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Fields on the device; indices as PyTorch wants them."""
        wide = {n: a.astype("i8") if a.dtype == "i4" else a for n, a in fields.items()}
        return {n: torch.from_numpy(a).to(self.device) for n, a in wide.items()}
