"""What each differentiable operation means in PyTorch: (attributes, *tensors) -> tensor.

The cases of `core/ir/op_shape_cases` are run by these; indices are i64 tensors here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from op_windows import WINDOWS
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - torch's own usage

Twin = Callable[..., Tensor]
At = dict[str, Any]


def plain(function: Callable[..., Tensor]) -> Twin:
    return lambda at, *x: function(*x)


class _Scaled(torch.autograd.Function):
    """x; its gradient times a factor."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *g: Tensor) -> Any:
        return g[0] * ctx.factor, None


def _slice(at: At, x: Tensor) -> Tensor:
    places = zip(at["starts"], at["stops"], at["steps"])
    return x[tuple(slice(a, b, s) for a, b, s in places)]


def _slice_set(at: At, x: Tensor, y: Tensor) -> Tensor:
    found = x.clone()
    found[tuple(slice(a, a + n) for a, n in zip(at["starts"], y.shape))] = y
    return found


def _pad(at: At, x: Tensor) -> Tensor:
    inner = at.get("interior") or (0,) * x.ndim
    widths = zip(at["low"], x.shape, at["high"], inner)
    found = x.new_full([a + n + h + i * max(0, n - 1) for a, n, h, i in widths], at["value"])
    spots = zip(at["low"], x.shape, inner)
    found[tuple(slice(a, a + n + i * max(0, n - 1), 1 + i) for a, n, i in spots)] = x
    return found


def _along(function: Callable[..., Tensor]) -> Twin:
    """A reduction along the attribute axes, all of them if there are several."""

    def twin(at: At, x: Tensor) -> Tensor:
        axes, keep = at["axes"], bool(at.get("keep"))
        return function(x, dim=axes, keepdim=keep) if axes else x.clone()

    return twin


def _product(x: Tensor, dim: Any, keepdim: bool) -> Tensor:
    for axis in sorted(dim, reverse=True):
        x = torch.prod(x, dim=axis, keepdim=keepdim)
    return x


def _running(function: Callable[..., Any], start: float | None) -> Twin:
    def twin(at: At, x: Tensor) -> Tensor:
        axis = at["axis"]
        x = x.flip(axis) if at.get("reverse") else x
        if at.get("exclusive") and x.shape[axis]:
            first = torch.full_like(x.narrow(axis, 0, 1), float(start or 0))
            x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
        found = function(x, axis) if x.shape[axis] else x
        found = found if isinstance(found, Tensor) else found.values
        return found.flip(axis) if at.get("reverse") else found

    return twin


def _turned(x: Tensor, flag: Any) -> Tensor:
    return x.mT if flag else x


def _matmul(at: At, x: Tensor, y: Tensor) -> Tensor:
    return _turned(x, at.get("transpose-x")) @ _turned(y, at.get("transpose-y"))


def _softmax(at: At, x: Tensor, *mask: Tensor) -> Tensor:
    scores = x * at.get("scale", 1.0)
    if not mask:
        return F.softmax(scores, dim=at["axis"])
    found = F.softmax(scores.masked_fill(~mask[0], -1e30), dim=at["axis"])
    return found.masked_fill(~mask[0], 0.0)


def _norm(x: Tensor, at: At) -> Tensor:
    mean = x.mean(at["axes"], keepdim=True)
    variance = ((x - mean) ** 2).mean(at["axes"], keepdim=True)
    return (x - mean) / torch.sqrt(variance + at["eps"])


def _affine(x: Tensor, *w: Tensor) -> Tensor:
    if w:
        x = x * w[0]
    return x + w[1] if len(w) == 2 else x


def _rms_norm(at: At, x: Tensor, *w: Tensor) -> Tensor:
    return _affine(x / torch.sqrt((x * x).mean(at["axes"], keepdim=True) + at["eps"]), *w)


def _group_norm(at: At, x: Tensor, *w: Tensor) -> Tensor:
    places = tuple(range(1, x.ndim - 1))
    apart = x.unflatten(-1, (at["groups"], x.shape[-1] // at["groups"]))
    found = _norm(apart, {"axes": (*places, x.ndim), "eps": at["eps"]})
    return _affine(found.flatten(-2), *w)


def _cross_entropy(at: At, x: Tensor, labels: Tensor) -> Tensor:
    axis, n = at["axis"], x.shape[at["axis"]]
    scores = F.log_softmax(x, dim=axis)
    smoothing, kept = at.get("smoothing", 0.0), None
    if labels.is_floating_point():
        targets = labels.detach()
    else:
        kept = torch.ones_like(labels, dtype=torch.bool)
        if at.get("ignore-index") is not None:
            kept = labels != at["ignore-index"]
        inside = (labels >= 0) & (labels < n)
        targets = F.one_hot(labels.clamp(0, n - 1), n).movedim(-1, axis).to(x.dtype)
        # A label that is dropped has logit 0 after the greatest was taken off.
        assert bool((inside | ~kept).all())
    even = targets.sum(axis, keepdim=True) / n
    loss = -((1 - smoothing) * targets + smoothing * even).mul(scores).sum(axis)
    if at.get("z-loss"):
        loss = loss + at["z-loss"] * torch.logsumexp(x, dim=axis) ** 2
    return loss if kept is None else torch.where(kept, loss, torch.zeros_like(loss))


def _binary_cross_entropy(at: At, x: Tensor, t: Tensor) -> Tensor:
    t = t.to(x.dtype)
    smoothing = at.get("smoothing", 0.0)
    t = t * (1 - smoothing) + 0.5 * smoothing
    weight = at.get("positive-weight", 1.0)
    return -(weight * t * F.logsigmoid(x) + (1 - t) * F.logsigmoid(-x))


def _masks(at: At, n: int, m: int) -> Tensor:
    query, key = torch.arange(n)[:, None], torch.arange(m)[None, :]
    seen = key <= query if at.get("causal") else torch.ones(n, m, dtype=torch.bool)
    window = at.get("window")
    return seen if window is None else seen & ((query - key).abs() < window)


def _attention(at: At, q: Tensor, k: Tensor, v: Tensor, *more: Tensor) -> Tensor:
    extra = dict(zip(at.get("extras") or (), more))
    times = q.shape[2] // k.shape[2]
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    scores = q @ k.mT * (at.get("scale") or 1 / math.sqrt(q.shape[-1]))
    if at.get("soft-cap"):
        scores = at["soft-cap"] * torch.tanh(scores / at["soft-cap"])
    scores = scores + extra.get("bias", 0.0)
    mask = _masks(at, q.shape[2], k.shape[2]).expand(scores.shape)
    mask = mask & extra["mask"] if "mask" in extra else mask
    share = _softmax({"axis": -1}, scores, mask)
    if "keep" in extra:
        share = share * extra["keep"] / (1 - at["rate"])
    return (share @ v).transpose(1, 2)


def _attention_back(
    at: At, g: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, kept: Tensor
) -> Tensor:
    """The cotangent of q, of what attention gave and the logsumexp of its scores."""
    times, scale = q.shape[2] // k.shape[2], at.get("scale") or 1 / math.sqrt(q.shape[-1])
    g, q, k, v, out = (x.transpose(1, 2) for x in (g, q, k, v, out))
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    mask = _masks(at, q.shape[2], k.shape[2])
    share = torch.where(mask, torch.exp(scale * q @ k.mT - kept[..., None]), 0.0)
    slope = share * (g @ v.mT - (g * out).sum(-1, keepdim=True))
    return scale * (slope @ k).transpose(1, 2)


def _gelu_slope(at: At, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """A product times the slope of the tanh form at z."""
    inner = torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))
    slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * z**2)
    return _matmul(at, x, y) * ((1 + inner) / 2 + z * (1 - inner**2) * slope / 2)


def _rope(at: At, x: Tensor, *positions: Tensor) -> Tensor:
    """Pairs as complex numbers, turned by exp(i angle)."""
    dims = at.get("dims") or x.shape[3]
    half, rest = dims // 2, x[..., dims:]
    place = positions[0] if positions else torch.arange(x.shape[1])
    rate = at.get("base", 10000.0) ** (-torch.arange(half, dtype=x.dtype) / half)
    angle = place.to(x.dtype)[..., None, None] * at.get("scale", 1.0) * rate
    turn = torch.polar(torch.ones_like(angle), angle)
    if at.get("interleaved"):
        pairs = torch.view_as_complex(x[..., :dims].unflatten(-1, (half, 2)).contiguous())
        turned = torch.view_as_real(pairs * turn).flatten(-2)
    else:
        pairs = torch.complex(x[..., :half], x[..., half:dims]) * turn
        turned = torch.cat([pairs.real, pairs.imag], -1)
    return torch.cat([turned, rest], -1)


def _gelu(at: At, x: Tensor) -> Tensor:
    if at.get("approximate") == "sigmoid":
        return x * torch.sigmoid(1.702 * x)
    return F.gelu(x, approximate=at.get("approximate") or "none")


def _rounded(at: At, x: Tensor) -> Tensor:
    return x.to({"f32": torch.float32, "f64": torch.float64}[at["dtype"]]).to(x.dtype)


def _concat(at: At, *x: Tensor) -> Tensor:
    return torch.cat(x, at["axis"])


TWINS: dict[str, Twin] = {
    "straight-through": lambda at, y, x: y.detach() + x - x.detach(),
    "barrier": lambda at, x, *rest: x.clone(),
    "gradient-scale": lambda at, x: _Scaled.apply(x, at["factor"]),
    "mod": lambda at, x, y: torch.remainder(x, y.detach()),
    "rem": lambda at, x, y: torch.fmod(x, y.detach()),
    "power": plain(torch.pow),
    "cbrt": lambda at, x: torch.sign(x) * torch.abs(x) ** (1 / 3),
    "erfinv": plain(torch.erfinv),
    "lgamma": plain(torch.lgamma),
    "fma": lambda at, x, y, z: x * y + z,
    "clip": lambda at, x, low, high: torch.minimum(torch.maximum(x, low), high),
    "where": plain(torch.where),
    "cast": _rounded,
    "gelu": _gelu,
    "softplus": lambda at, x: F.softplus(x, beta=at.get("beta", 1.0)),
    "elu": lambda at, x: F.elu(x, alpha=at.get("alpha", 1.0)),
    "leaky-relu": lambda at, x: F.leaky_relu(x, at.get("slope", 0.01)),
    "broadcast-to": lambda at, x: x.expand(at["shape"]).clone(),
    "reshape": lambda at, x: x.reshape(at["shape"]),
    "permute": lambda at, x: x.permute(at["axes"]),
    "flip": lambda at, x: x.flip(at["axes"]) if at["axes"] else x.clone(),
    "slice": _slice,
    "slice-set": _slice_set,
    "pad": _pad,
    "concat": _concat,
    "reduce-sum": _along(torch.sum),
    "reduce-max": _along(torch.amax),
    "reduce-min": _along(torch.amin),
    "reduce-product": _along(_product),
    "logsumexp": _along(torch.logsumexp),
    "cumsum": _running(torch.cumsum, 0.0),
    "cumprod": _running(torch.cumprod, 1.0),
    "cummax": _running(torch.cummax, None),
    "cummin": _running(torch.cummin, None),
    "matmul": _matmul,
    "matmul-bias": lambda at, x, y, bias: _matmul(at, x, y) + bias,
    "matmul-gelu": lambda at, x, y, bias: F.gelu(_matmul(at, x, y) + bias, approximate="tanh"),
    "matmul-gelu-slope": _gelu_slope,
    "attention-forward": _attention,
    "attention-backward": _attention_back,
    "dot": lambda at, x, y: (x * y).sum(-1),
    "outer": lambda at, x, y: x[..., :, None] * y[..., None, :],
    "einsum": lambda at, *x: torch.einsum(at["subscripts"], *x),
    "sort": lambda at, x: torch.sort(x, at["axis"], descending=bool(at.get("descending"))).values,
    "top-k": lambda at, x: (
        torch.topk(x, at["k"], at["axis"], largest=not at.get("smallest")).values
    ),
    "softmax": _softmax,
    "log-softmax": lambda at, x: F.log_softmax(x * at.get("scale", 1.0), dim=at["axis"]),
    "layer-norm": lambda at, x, *w: _affine(_norm(x, at), *w),
    "rms-norm": _rms_norm,
    "group-norm": _group_norm,
    "cross-entropy": _cross_entropy,
    "binary-cross-entropy": _binary_cross_entropy,
    "attention": _attention,
    "rope": _rope,
    **WINDOWS,
}
