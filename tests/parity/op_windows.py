"""Indexing, convolution and pooling in PyTorch, for `op_twins`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own usage

At = dict[str, Any]
CONV: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
MAX: dict[int, Any] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}


def _inside(index: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Where an index is in range, and the index made safe."""
    return (index >= 0) & (index < n), index.clamp(0, max(n - 1, 0))


def _take_along(at: At, x: Tensor, index: Tensor) -> Tensor:
    ok, safe = _inside(index, x.shape[at["axis"]])
    return torch.where(ok, x.gather(at["axis"], safe), torch.zeros((), dtype=x.dtype))


def _rows(at: At, x: Tensor) -> tuple[int, int]:
    return at["axis"], at.get("batch-axes") or 0


def _gather(at: At, x: Tensor, index: Tensor) -> Tensor:
    """By a flat index over the axis, batch by batch."""
    axis, batch = _rows(at, x)
    if batch:
        rest = {**at, "axis": axis - batch, "batch-axes": 0}
        lead = x.shape[:batch]
        flat = zip(x.flatten(0, batch - 1), index.flatten(0, batch - 1))
        return torch.stack([_gather(rest, a, i) for a, i in flat]).unflatten(0, lead)
    ok, safe = _inside(index, x.shape[axis])
    found = x.index_select(axis, safe.reshape(-1)).unflatten(axis, index.shape or (1,))
    shape = x.shape[:axis] + index.shape + x.shape[axis + 1 :]
    wide = ok.reshape(index.shape + (1,) * (x.ndim - axis - 1))
    return torch.where(wide, found.reshape(shape), torch.zeros((), dtype=x.dtype))


def _scatter(at: At, x: Tensor, index: Tensor, y: Tensor, add: bool) -> Tensor:
    axis, batch = _rows(at, x)
    if batch:
        rest = {**at, "axis": axis - batch, "batch-axes": 0}
        lead = x.shape[:batch]
        flat = zip(*(v.flatten(0, batch - 1) for v in (x, index, y)))
        return torch.stack([_scatter(rest, *v, add) for v in flat]).unflatten(0, lead)
    rows = y.flatten(axis, axis + index.ndim - 1) if index.ndim else y.unsqueeze(axis)
    found = x.clone()
    for place, i in enumerate(index.reshape(-1).tolist()):
        if 0 <= i < x.shape[axis]:
            at_i = (slice(None),) * axis + (i,)
            new = rows.select(axis, place)
            found = _put(found, at_i, new, add)
    return found


def _put(x: Tensor, at: Any, new: Tensor, add: bool) -> Tensor:
    found = x.clone()
    found[at] = x[at] + new if add else new
    return found


def _along(at: At, x: Tensor, index: Tensor, y: Tensor, add: bool) -> Tensor:
    """Position by position along the axis, so that the last of equal indices counts."""
    axis, found = at["axis"], x
    n = x.shape[axis]
    places = torch.arange(n).reshape([-1] + [1] * (x.ndim - axis - 1))
    for k in range(index.shape[axis]):
        hit = places == index.narrow(axis, k, 1)
        new = y.narrow(axis, k, 1).expand(hit.shape)
        found = torch.where(hit, found + new if add else new, found)
    return found


def _segment_sum(at: At, x: Tensor, segments: Tensor) -> Tensor:
    ok, safe = _inside(segments, at["n"])
    rows = x * ok.reshape([-1] + [1] * (x.ndim - 1))
    return x.new_zeros((at["n"], *x.shape[1:])).index_add(0, safe, rows)


def _first(x: Tensor) -> Tensor:
    return x.movedim(-1, 1)


def _kernel(w: Tensor) -> Tensor:
    """(k... i o) to (o i k...)."""
    return w.movedim(-1, 0).movedim(-1, 1)


def _flat(pairs: Any) -> list[int]:
    return [p for pair in reversed(pairs) for p in pair]


def _one_more(x: Tensor) -> Tensor:
    """A row of zeros after the others: there are functions that take no empty batch."""
    return torch.cat([x, x.new_zeros(1, *x.shape[1:])])


def _conv(at: At, x: Tensor, w: Tensor) -> Tensor:
    wide = F.pad(_first(x), _flat(at["padding"]))
    some = _one_more(wide)
    at = {"stride": at["strides"], "dilation": at["dilations"], "groups": at["groups"]}
    return CONV[x.ndim - 2](some, _kernel(w), **at)[: x.shape[0]].movedim(1, -1)


def _pulled(function: Callable[[Tensor], Tensor], like: Tensor, g: Tensor) -> Tensor:
    """What a linear function's gradient gives for a cotangent, itself differentiable in g."""
    at = torch.zeros_like(like, requires_grad=True)
    (found,) = torch.autograd.grad(function(at), at, g, create_graph=True)
    return found


def _input_gradient(at: At, g: Tensor, w: Tensor) -> Tensor:
    like = g.new_zeros(at["input-shape"])
    return _pulled(lambda x: _conv(at, x, w), like, g)


def _weight_gradient(at: At, x: Tensor, g: Tensor) -> Tensor:
    like = g.new_zeros(at["kernel-shape"])
    return _pulled(lambda w: _conv(at, x, w), like, g)


def _conv_transpose(at: At, x: Tensor, w: Tensor) -> Tensor:
    extra = at.get("output-padding") or (0,) * (x.ndim - 2)
    sizes = zip(x.shape[1:-1], w.shape, at["strides"], at["dilations"], at["padding"], extra)
    out = [(n - 1) * s + d * (k - 1) + 1 - p[0] - p[1] + e for n, k, s, d, p, e in sizes]
    shape = (x.shape[0], *out, w.shape[-1] * at["groups"])
    turned = w.transpose(-1, -2)
    return _input_gradient({**at, "input-shape": shape}, x, turned)


def _max_pool(at: At, x: Tensor) -> Tensor:
    wide = F.pad(_first(x), _flat(at["padding"]), value=-1e30)
    some = _one_more(wide)
    dilation = at.get("dilations") or 1
    found = MAX[x.ndim - 2](some, at["sizes"], stride=at["strides"], dilation=dilation)
    return found[: x.shape[0]].movedim(1, -1)


def _max_gradient(at: At, x: Tensor, g: Tensor) -> Tensor:
    at_x = x.detach().requires_grad_()
    (found,) = torch.autograd.grad(_max_pool(at, at_x), at_x, g, create_graph=True)
    return found + 0 * x


def _window_sums(at: At, x: Tensor) -> Tensor:
    """Sums of windows, a channel at a time."""
    one = x.new_ones((*at["sizes"], 1, x.shape[-1]))
    return _conv({**at, "dilations": (1,) * len(at["sizes"]), "groups": x.shape[-1]}, x, one)


def _avg_pool(at: At, x: Tensor) -> Tensor:
    count = torch.tensor(float(torch.tensor(at["sizes"]).prod()))
    if not at.get("count-padding"):
        count = _window_sums(at, x.new_ones((1, *x.shape[1:])))
    return _window_sums(at, x) / count


def _avg_gradient(at: At, g: Tensor) -> Tensor:
    return _pulled(lambda x: _avg_pool(at, x), g.new_zeros(at["input-shape"]), g)


def _extremum(at: At, x: Tensor, index: Tensor, y: Tensor, most: bool) -> Tensor:
    """x with the greatest (least) of itself and of what is sent to each place."""
    axis, found = at["axis"], x
    rows = y.flatten(axis, axis + index.ndim - 1) if index.ndim else y.unsqueeze(axis)
    for place, i in enumerate(index.reshape(-1).tolist()):
        if 0 <= i < x.shape[axis]:
            at_i = (slice(None),) * axis + (i,)
            pair = found[at_i], rows.select(axis, place)
            better = pair[1] > pair[0] if most else pair[1] < pair[0]
            found = _put(found, at_i, torch.where(better, pair[1], pair[0]), False)
    return found


WINDOWS: dict[str, Callable[..., Tensor]] = {
    "gather": _gather,
    "take-along": _take_along,
    "scatter-add": lambda at, x, i, y: _scatter(at, x, i, y, True),
    "scatter-set": lambda at, x, i, y: _scatter(at, x, i, y, False),
    "scatter-max": lambda at, x, i, y: _extremum(at, x, i, y, True),
    "scatter-min": lambda at, x, i, y: _extremum(at, x, i, y, False),
    "put-along": lambda at, x, i, y: _along(at, x, i, y, False),
    "add-along": lambda at, x, i, y: _along(at, x, i, y, True),
    "segment-sum": _segment_sum,
    "conv": _conv,
    "conv-input-gradient": _input_gradient,
    "conv-weight-gradient": _weight_gradient,
    "conv-transpose": _conv_transpose,
    "max-pool": _max_pool,
    "max-pool-gradient": _max_gradient,
    "avg-pool": _avg_pool,
    "avg-pool-gradient": _avg_gradient,
}
