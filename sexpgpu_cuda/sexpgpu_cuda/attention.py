"""Attention, forward and backward: cuDNN's calls, whose stand-ins on the CPU are NumPy's products.

As fused kernels do it: scores and shares are f32, shares and their cotangents are rounded to 16
bits for the second products, results once (45.10).
"""

from __future__ import annotations

import math
from typing import Any

from sexpgpu_core.ir.types import numpy_dtype
from sexpgpu_core.kernels.kernel import View

from .dnn import attention_graph
from .frame import Frame
from .memory import Arena
from .plain_attention import plain_attention
from .planned import Planned
from .providers import taken
from .work import LibraryCall


def attention(frame: Frame) -> None:
    """A record of either pass."""
    call = frame.call
    views = (*call.inputs, *call.outputs)
    sides = [frame.side(v) for v in views]
    spans = tuple(s.span(i >= len(call.inputs)) for i, s in enumerate(sides))
    name = call.node.operation
    rule = Attention(call.node.get("causal"), call.node.get("window"), call.node.get("scale"))
    made = rule.forward if name == "attention-forward" else rule.backward

    def run(arena: Arena, *addresses: int) -> None:
        arrays = [_array(arena, at, view) for at, view in zip(addresses, views)]
        given = arrays[: len(call.inputs)]
        for array, value in zip(arrays[len(call.inputs) :], made(*given)):
            array[...] = value

    addresses = tuple(s.address for s in sides)
    work = taken(frame, "cuDNN", lambda: Planned(attention_graph(call), addresses))
    if work is None:
        plain_attention(frame)
        return
    frame.records.append(LibraryCall(name, run, addresses, spans, work, frame.number, frame.commit))


def _array(arena: Arena, address: int, view: View) -> Any:
    return arena.strided(address, numpy_dtype(view.dtype), view.shape, view.strides)


class Attention:
    """The arithmetic for one choice of mask and scale, over (b n h d)."""

    def __init__(self, causal: Any, window: Any, scale: Any) -> None:
        self.causal = bool(causal)
        self.window = window
        self.scale = scale

    def forward(self, q: Any, k: Any, v: Any) -> tuple[Any, Any]:
        import numpy as np

        scores = self._scores(q, k)
        kept = np.logaddexp.reduce(scores, axis=-1)
        share = _rounded(np.exp(scores - kept[..., None]), q.dtype)
        out = np.matmul(share, _by_head(v, q.shape[2]))
        return out.transpose(0, 2, 1, 3).astype(q.dtype), kept

    def backward(self, g: Any, q: Any, k: Any, v: Any, out: Any, kept: Any) -> tuple[Any, ...]:
        import numpy as np

        heads = q.shape[2]
        towards, wide_q = _by_head(g, heads), _by_head(q, heads)
        share = np.exp(self._scores(q, k) - kept[..., None])
        own = (towards * _by_head(out, heads)).sum(-1, keepdims=True)
        slope = share * (np.matmul(towards, _by_head(v, heads).swapaxes(2, 3)) - own)
        slope = _rounded(slope, q.dtype)
        scale = np.float32(self._scale(q))
        dq = np.matmul(slope, _by_head(k, heads)) * scale
        dk = np.matmul(slope.swapaxes(2, 3), wide_q) * scale
        dv = np.matmul(_rounded(share, q.dtype).swapaxes(2, 3), towards)
        few = k.shape[2]
        return (
            dq.transpose(0, 2, 1, 3).astype(q.dtype),
            _added(dk, few).astype(k.dtype),
            _added(dv, few).astype(v.dtype),
        )

    def _scale(self, q: Any) -> float:
        return float(self.scale or 1.0 / math.sqrt(max(q.shape[-1], 1)))

    def _scores(self, q: Any, k: Any) -> Any:
        """(b h n m), f32, -inf where masked."""
        import numpy as np

        found = np.matmul(_by_head(q, q.shape[2]), _by_head(k, q.shape[2]).swapaxes(2, 3))
        found = found * np.float32(self._scale(q))
        back = np.arange(q.shape[1])[:, None] - np.arange(k.shape[1])[None, :]
        seen = np.ones(back.shape, bool)
        if self.causal:
            seen &= back >= 0
        if self.window is not None:
            seen &= np.abs(back) < self.window
        return np.where(seen, found, np.float32(-np.inf))


def _by_head(x: Any, heads: int) -> Any:
    """(b n h d) to (b heads n d) in f32, each head for a run of heads."""
    import numpy as np

    wide = x.astype(np.float32).transpose(0, 2, 1, 3)
    return np.repeat(wide, heads // x.shape[2], axis=1)


def _added(x: Any, heads: int) -> Any:
    """(b h n d) to (b n heads d), runs of heads added."""
    b, every, n, d = x.shape
    return x.reshape(b, heads, every // heads, n, d).sum(2).transpose(0, 2, 1, 3)


def _rounded(x: Any, dtype: Any) -> Any:
    return x.astype(dtype).astype("f4")


ROWS = {"attention-forward": attention, "attention-backward": attention}
