"""Attention and convolutions as cuDNN's graph API asks for them: tensors by sizes and strides.

Attention's axes are (b h n d); a picture's (n c h w), a window's (k c r s), whatever lies
innermost. Nothing here imports the library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sexpgpu_core.kernels.kernel import NodeCall, View


class Tensor(NamedTuple):
    """In the order of the record's arguments; `written`: a result."""

    name: str
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    written: bool = False


class DnnGraph(NamedTuple):
    """One operation between tensors. `options`: its numbers, by name."""

    operation: str
    tensors: tuple[Tensor, ...]
    options: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> str:
        """What a choice among plans depends on, beside the library and the GPU."""
        tensors = " ".join(f"{t.dtype}{t.sizes}{t.strides}" for t in self.tensors)
        return f"{self.operation} {tensors} {self.options}".replace(", ", ",")

    @property
    def dtype(self) -> str:
        return self.tensors[0].dtype


NAMES: Mapping[str, str] = {
    "attention-forward": "q k v o stats",
    "attention-backward": "dO q k v o stats dQ dK dV",
    "conv": "image weight out",
    "conv-input-gradient": "loss weight out",
    "conv-weight-gradient": "image loss out",
}
"""What operands and results are called, in order."""


def _heads(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(b n h d) as (b h n d); a logarithm a row (b h n) as (b h n 1)."""
    if len(view.shape) == 3:
        return (*view.shape, 1), (*view.strides, 1)
    order = (0, 2, 1, 3)
    return tuple(view.shape[a] for a in order), tuple(view.strides[a] for a in order)


def attention_graph(call: NodeCall) -> DnnGraph:
    q = call.inputs[0 if call.node.operation == "attention-forward" else 1]
    scale = call.node.get("scale") or 1.0 / math.sqrt(max(q.shape[3], 1))
    options: dict[str, Any] = {"attn_scale": float(scale)}
    if call.node.get("causal"):
        options["use_causal_mask"] = True
    if call.node.get("window"):
        options["diagonal_band_left_bound"] = int(call.node.get("window"))
    return _graph(call, [_heads] * len(NAMES[call.node.operation].split()), options)


def _picture(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(n h w c) as (n c h w); one spatial axis becomes two."""
    return _spread(view, (0, len(view.shape) - 1, *range(1, len(view.shape) - 1)))


def _window(view: View) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(r s c k) as (k c r s)."""
    rank = len(view.shape)
    return _spread(view, (rank - 1, rank - 2, *range(rank - 2)))


def _spread(view: View, order: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    sizes, strides = (tuple(x[a] for a in order) for x in (view.shape, view.strides))
    if len(order) > 3:
        return sizes, strides
    whole = sizes[2] * strides[2]
    return (*sizes[:2], 1, sizes[2]), (*strides[:2], whole, strides[2])


Seen = Callable[[View], tuple[tuple[int, ...], tuple[int, ...]]]
SEEN: Mapping[str, tuple[Seen, ...]] = {
    "conv": (_picture, _window, _picture),
    "conv-input-gradient": (_picture, _window, _picture),
    "conv-weight-gradient": (_picture, _picture, _window),
}


def convolution_graph(call: NodeCall) -> DnnGraph:
    node = call.node
    pads = node.get("padding")
    before, after = ([p[side] for p in pads] for side in (0, 1))
    lead = [1] if len(pads) == 1 else []
    options = {
        "pre_padding": (*(0 for _ in lead), *before),
        "post_padding": (*(0 for _ in lead), *after),
        "stride": (*lead, *node.get("strides")),
        "dilation": (*lead, *node.get("dilations")),
    }
    return _graph(call, SEEN[node.operation], options)


def _graph(call: NodeCall, seen: Sequence[Seen], options: dict[str, Any]) -> DnnGraph:
    views = (*call.inputs, *call.outputs)
    tensors = tuple(
        Tensor(name, view.dtype, *look(view), k >= len(call.inputs))
        for k, (name, view, look) in enumerate(zip(NAMES[call.node.operation].split(), views, seen))
    )
    return DnnGraph(call.node.operation, tensors, tuple(sorted(options.items())))
