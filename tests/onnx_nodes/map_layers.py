"""Norms, attention and losses of ONNX in our builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_calls import call
from onnx_node import Node, Unmapped, axis_of, cast, channels_first, channels_last, rank


def _norm(n: Node) -> Any:
    x = n[0]
    axis = axis_of(n.get("axis", -1), x)
    axes = list(range(axis, rank(x)))
    eps = n.get("epsilon", 1e-5)
    if n.operation == "RMSNormalization":
        return call("rms-norm", x, weight=n[1], axis=axes, eps=eps)
    y = call("layer-norm", x, weight=n[1], bias=n.maybe(2), axis=axes, eps=eps)
    if n.outputs == 1:
        return y
    spread = call("std", x, axis=axes, keep=True, eps=eps)
    return [y, call("mean", x, axis=axes, keep=True), call("reciprocal", spread)]


def _group_norm(n: Node) -> Any:
    weight, bias = n[1], n[2]
    y = call(
        "group-norm", channels_last(n[0]), n.get("num_groups"), weight=weight, bias=bias,
        eps=n.get("epsilon", 1e-5),
    )  # fmt: skip
    return channels_first(y)


def _instance_norm(n: Node) -> Any:
    x = n[0]
    y = call(
        "group-norm", channels_last(x), x.shape[1], weight=n[1], bias=n[2],
        eps=n.get("epsilon", 1e-5),
    )  # fmt: skip
    return channels_first(y)


def _column(v: Any, x: Any) -> Any:
    return call("reshape", v, [-1, *[1] * (rank(x) - 2)])


def _batch_norm(n: Node) -> Any:
    x, momentum = n[0], n.get("momentum", 0.9)
    mean, variance, more = n[3], n[4], []
    if n.get("training_mode", 0):
        axes = [0, *range(2, rank(x))]
        mean, variance = call("mean", x, axis=axes), call("variance", x, axis=axes)
        for old, new in ((n[3], mean), (n[4], variance)):
            more.append(call("+", call("*", old, momentum), call("*", new, 1 - momentum)))
    scale = call("/", n[1], call("sqrt", call("+", variance, n.get("epsilon", 1e-5))))
    centred = call("-", x, _column(mean, x))
    y = call("+", call("*", centred, _column(scale, x)), _column(n[2], x))
    return [y, *more] if more else y


def _lp_norm(n: Node) -> Any:
    x, axis = n[0], axis_of(n.get("axis", -1), n[0])
    if n.get("p", 2) == 2:
        return call("normalize", x, axis=axis)
    size = call("norm", x, axis=axis, keep=True, order=1)
    return call("where", call("=", size, 0), 0.0, call("/", x, size))


def _mean_variance(n: Node) -> Any:
    x, axes = n[0], list(n.get("axes") or [0, 2, 3])
    centred = call("-", x, call("mean", x, axis=axes, keep=True))
    return call("/", centred, call("+", call("std", x, axis=axes, keep=True), 1e-9))


def _dropout(n: Node) -> Any:
    x = n[0]
    if n.has(2) and bool(n.known(2)) and float(n.known(1, np.array(0.5))) > 0:
        raise Unmapped("random numbers of another generator")
    return [x, call("=", x, x)] if n.outputs > 1 else x


def _heads(n: Node, x: Any, name: str) -> Any:
    """(b n h d) of (b h n d), or of (b n h d) flat."""
    if rank(x) == 4:
        return call("permute", x, [0, 2, 1, 3])
    b, length, width = x.shape
    heads = n.get(name)
    return call("reshape", x, [b, length, heads, width // heads])


def _past(n: Node, x: Any, at: int) -> Any:
    if not n.has(at):
        return x
    return call("concat", call("permute", n[at], [0, 2, 1, 3]), x, axis=1)


def _attention(n: Node) -> Any:
    if n.outputs > 3 and n.wanted[3]:
        raise Unmapped("the scores inside are no result of attention")
    q = _heads(n, n[0], "q_num_heads")
    k = _past(n, _heads(n, n[1], "kv_num_heads"), 4)
    v = _past(n, _heads(n, n[2], "kv_num_heads"), 5)
    before = k.shape[1] - n[1].shape[-2 if rank(n[1]) == 4 else 1]
    y = call("attention", q, k, v, **_attention_keys(n, q, k, before))
    b, length, heads, depth = y.shape
    flat = rank(n[0]) == 3
    out = call("reshape", y, [b, length, heads * depth]) if flat else _turned(y)
    return [out, *(_turned(x) for x in (k, v)[: n.outputs - 1])]


def _turned(x: Any) -> Any:
    return call("permute", x, [0, 2, 1, 3])


def _attention_keys(n: Node, q: Any, k: Any, before: int) -> dict[str, Any]:
    at: dict[str, Any] = {}
    left, right = n.get("left_window_size", -1), n.get("right_window_size", -1)
    if max(left, right) >= 0:
        at["mask"] = _window(n, q, k, before, left, right)
    if n.get("is_causal", 0):
        at["causal"] = True
        if before:
            at["q_positions"] = call("iota", q.shape[1], start=before)
    if n.get("scale") is not None:
        at["scale"] = n.get("scale")
    if n.get("softcap", 0.0):
        at["soft_cap"] = n.get("softcap")
    if n.has(3):
        mask = n[3]
        missing = k.shape[1] - mask.shape[-1]
        if missing:
            value = 0 if mask.dtype == "bool" else -np.inf
            mask = _padded(mask, missing, value)
        if rank(mask) == 3:  # heads, not examples
            mask = call("unsqueeze", mask, 0)
        if mask.dtype == "bool" and "mask" in at:
            mask = call("logical-and", at["mask"], mask)
        at["mask" if mask.dtype == "bool" else "bias"] = mask
    if n.has(6):
        at = _lengths(n, at, q, k)
    return at


def _window(n: Node, q: Any, k: Any, before: int, left: int, right: int) -> Any:
    """Keys that stand no further than left before a query and right behind it, (b 1 n m)."""
    places = call("reshape", call("iota", q.shape[1], start=before), [1, 1, -1, 1])
    if n.has(6):
        first = call("-", call("reshape", cast(n[6], "i32"), [-1, 1, 1, 1]), q.shape[1])
        places = call("+", places, first)
    away = call("-", call("iota", k.shape[1]), places)
    seen = call("=", away, away)
    if left >= 0:
        seen = call("logical-and", seen, call(">=", away, -left))
    return seen if right < 0 else call("logical-and", seen, call("<=", away, right))


def _padded(mask: Any, missing: int, value: float) -> Any:
    if mask.dtype == "bool":
        wide = call("pad", cast(mask, "i32"), [[0, missing]], value=0)
        return call("=", wide, 1)
    return call("pad", mask, [[0, missing]], value=value)


def _lengths(n: Node, at: dict[str, Any], q: Any, k: Any) -> dict[str, Any]:
    """nonpad_kv_seqlen: keys below a length take part; queries stand at its end."""
    counts = cast(n[6], "i32")
    keys = call("iota", k.shape[1])
    seen = call("<", keys, call("reshape", counts, [-1, 1, 1, 1]))
    if at.pop("causal", None):
        places = call("+", call("iota", q.shape[1]), call("reshape", counts, [-1, 1, 1]))
        places = call("-", places, q.shape[1])
        causal = call("<=", keys, call("reshape", places, [counts.shape[0], 1, -1, 1]))
        seen = call("logical-and", seen, causal)
    mask = at.get("mask")
    at["mask"] = seen if mask is None else call("logical-and", mask, seen)
    return at


def _rotary(n: Node) -> Any:
    """The rotation by given tables: `rope` makes its own, so it is written out."""
    x = n[0]
    flat = rank(x) == 3
    x = _heads(n, x, "num_heads")
    dims = n.get("rotary_embedding_dim", 0) or x.shape[-1]
    turned, rest = x, None
    if dims < x.shape[-1]:
        turned, rest = call("split", x, [dims, x.shape[-1] - dims], axis=-1)
    tables = [n[1], n[2]]
    if n.has(3):
        tables = [call("gather", t, n[3]) for t in tables]
    cos, sin = (call("unsqueeze", t, 2) for t in tables)
    if n.get("interleaved", 0):
        a, c = (call("slice", turned, axis=-1, start=i, step=2) for i in (0, 1))
    else:
        a, c = call("split", turned, 2, axis=-1)
    real = call("-", call("*", a, cos), call("*", c, sin))
    imaginary = call("+", call("*", a, sin), call("*", c, cos))
    if n.get("interleaved", 0):
        y = call("reshape", call("stack", real, imaginary, axis=-1), list(turned.shape))
    else:
        y = call("concat", real, imaginary, axis=-1)
    y = y if rest is None else call("concat", y, rest, axis=-1)
    return call("reshape", y, list(n.shape())) if flat else call("permute", y, [0, 2, 1, 3])


def _nll(n: Node) -> Any:
    x, target = n[0], n[1]
    ignored = n.get("ignore_index")
    safe = target
    if ignored is not None:
        safe = call("where", call("=", target, ignored), call("zeros-like", target), target)
    taken = call("take-along", x, call("unsqueeze", safe, 1), axis=1)
    loss = call("-", call("squeeze", taken, axis=1))
    return _weighted(n, loss, target, safe, ignored)


def _weighted(n: Node, loss: Any, target: Any, safe: Any, ignored: int | None) -> Any:
    """The reduction, by weights of classes, those ignored apart."""
    weights = call("ones-like", loss) if not n.has(2) else call("gather", n[2], safe)
    if ignored is not None:
        weights = call("where", call("=", target, ignored), call("zeros-like", loss), weights)
    reduction = n.get("reduction", "mean")
    if reduction == "mean":
        return call("weighted-mean", loss, weights)
    loss = call("*", loss, weights)
    return loss if reduction == "none" else call("sum", loss)


def _softmax_loss(n: Node) -> Any:
    x, target = n[0], n[1]
    ignored = n.get("ignore_index")
    more = {} if ignored is None else {"ignore_index": ignored}
    loss = call("cross-entropy", x, target, axis=1, **more)
    safe = target
    if ignored is not None:
        safe = call("where", call("=", target, ignored), call("zeros-like", target), target)
    found = _weighted(n, loss, target, safe, ignored)
    return [found, call("log-softmax", x, axis=1)] if n.outputs > 1 else found


def _dft(n: Node) -> Any:
    x = n[0]
    axis = int(n.known(2)) if n.has(2) else n.get("axis", 1 if n.opset < 20 else -2)
    axis = axis_of(axis, x)
    if n.has(1) or n.get("onesided", 0):
        raise Unmapped("a length of its own, or one side")
    real = x.shape[-1] == 1
    given = call("squeeze", x, axis=-1) if real else x
    return call("fft", given, axis=axis, inverse=bool(n.get("inverse", 0)))


ROWS: dict[str, Callable[[Node], Any]] = {
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _norm),
    "GroupNormalization": _group_norm,
    "InstanceNormalization": _instance_norm,
    "BatchNormalization": _batch_norm,
    "LpNormalization": _lp_norm,
    "MeanVarianceNormalization": _mean_variance,
    "Dropout": _dropout,
    "Attention": _attention,
    "RotaryEmbedding": _rotary,
    "NegativeLogLikelihoodLoss": _nll,
    "SoftmaxCrossEntropyLoss": _softmax_loss,
    "DFT": _dft,
}
