"""Layers in NumPy: arrays, and formulas of parameters by their paths below a layer."""

from __future__ import annotations

from typing import Any

import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(2, 6, 8)).astype("f4")
PICTURE = random.normal(size=(2, 6, 6, 4)).astype("f4")
TIMES = np.array([0, 7], "i4")
C = random.normal(size=(2, 3)).astype("f4")
IDS = (np.arange(12).reshape(2, 6) % 5).astype("i4")
NODES = random.normal(size=(5, 4)).astype("f4")
EDGES = np.array([[0, 1, 2, 3, 4, 0], [1, 2, 0, 4, 3, 4]], "i4")
ARRAYS = {
    "x": X, "picture": PICTURE, "times": TIMES, "c": C, "ids": IDS, "nodes": NODES, "edges": EDGES,
}  # fmt: skip
P = dict[str, Any]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def silu(x: Any) -> Any:
    return x * sigmoid(x)


def gelu(x: Any) -> Any:
    from math import erf

    return 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normed(x: Any, eps: float = 1e-5) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)


def at(p: P, prefix: str) -> P:
    return {k.removeprefix(prefix + "/"): v for k, v in p.items() if k.startswith(prefix + "/")}


def map_of(x: Any, p: P, name: str) -> Any:
    return x @ p[f"{name}/w"] + p.get(f"{name}/b", 0)


def heads_of(x: Any, heads: int) -> Any:
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def attended(q: Any, k: Any, v: Any, allowed: Any = True, bias: Any = 0) -> Any:
    """(b h n d) operands to (b n h*d)."""
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]) + bias
    share = softmax(np.where(allowed, scores, -1e30))
    y = (share @ v).transpose(0, 2, 1, 3)
    return y.reshape(*y.shape[:2], -1)


def attention(x: Any, p: P, heads: int = 2, **more: Any) -> Any:
    q, k, v = (heads_of(t, heads) for t in np.split(map_of(x, p, "qkv"), 3, -1))
    return map_of(attended(q, k, v, **more), p, "out")


CAUSAL = np.tril(np.ones((6, 6), bool))


def turned(x: Any) -> Any:
    """Rope on (b h n d), half-split."""
    half = x.shape[-1] // 2
    angle = np.arange(x.shape[2])[:, None] / 10000 ** (np.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate(
        [a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1
    )


def rope_attention(x: Any, p: P) -> Any:
    q, k, v = (heads_of(t, 2) for t in np.split(map_of(x, p, "qkv"), 3, -1))
    return map_of(attended(turned(q), turned(k), v, CAUSAL), p, "out")


def grouped(x: Any, p: P) -> Any:
    """Four heads on two of keys and values, q and k normed, scores capped, a window of 3."""
    qkv = map_of(x, p, "qkv")
    q, k, v = heads_of(qkv[..., :8], 4), heads_of(qkv[..., 8:12], 2), heads_of(qkv[..., 12:], 2)
    q, k = (
        t / np.sqrt((t**2).mean(-1, keepdims=True) + 1e-6) * p[f"{n}-norm/weight"]
        for t, n in ((q, "q"), (k, "k"))
    )
    k, v = np.repeat(k, 2, 1), np.repeat(v, 2, 1)
    scores = 5 * np.tanh(q @ k.transpose(0, 1, 3, 2) / np.sqrt(2) / 5)
    seen = CAUSAL & ~np.tril(np.ones((6, 6), bool), -3)
    y = (softmax(np.where(seen, scores, -1e30)) @ v).transpose(0, 2, 1, 3)
    return map_of(y.reshape(2, 6, 8), p, "out")


def alibi() -> Any:
    distance = np.abs(np.arange(6)[:, None] - np.arange(6))
    return -np.array([2.0**-4, 2.0**-8])[:, None, None] * distance


def relative(p: P) -> Any:
    """Eight buckets: four a side, of which two are exact."""
    found = np.zeros((2, 6, 6))
    for q in range(6):
        for k in range(6):
            far = abs(k - q)
            bucket = far if far < 2 else min(3, 2 + int(np.log(far / 2) / np.log(4) * 2))
            found[:, q, k] = p["relative-bias/w"][bucket + (4 if k > q else 0)]
    return found


def linear_attention(x: Any, p: P, seen: Any = True) -> Any:
    q, k, v = (heads_of(t, 2) for t in np.split(x @ p["qkv/w"], 3, -1))
    q, k = (np.where(t > 0, t + 1, np.exp(t)) for t in (q, k))
    scores = np.where(seen, q @ k.transpose(0, 1, 3, 2), 0)
    y = (scores @ v) / scores.sum(-1, keepdims=True)
    return y.transpose(0, 2, 1, 3).reshape(x.shape) @ p["out/w"]


def latent(x: Any, p: P) -> Any:
    q = heads_of(x @ p["q/w"], 2)
    down = x @ p["down/w"]
    c, key = down[..., :4], turned(down[:, None, :, 4:])
    c = c / np.sqrt((c**2).mean(-1, keepdims=True) + 1e-6) * p["norm/weight"]
    up = heads_of(c @ p["up/w"], 2)
    k, v = up[..., :4], up[..., 4:]
    k = np.concatenate([k, np.repeat(key, 2, 1)], -1)
    q = np.concatenate([q[..., :4], turned(q[..., 4:])], -1)
    return attended(q, k, v, CAUSAL) @ p["out/w"]


def layer_normed(x: Any, p: P, name: str) -> Any:
    return normed(x) * p[f"{name}/weight"] + p[f"{name}/bias"]


def forward(x: Any, p: P) -> Any:
    return map_of(gelu(map_of(x, p, "up")), p, "down")


def block(x: Any, p: P) -> Any:
    x = x + attention(layer_normed(x, p, "norm"), at(p, "attention"))
    return x + forward(layer_normed(x, p, "norm-2"), at(p, "mlp"))


def post_block(x: Any, p: P) -> Any:
    x = layer_normed(x + attention(x, at(p, "attention")), p, "norm")
    return layer_normed(x + forward(x, at(p, "mlp")), p, "norm-2")


def crossed(x: Any, y: Any, p: P) -> Any:
    k, v = np.split(map_of(y, p, "kv"), 2, -1)
    q = map_of(x, p, "q")
    return map_of(attended(heads_of(q, 2), heads_of(k, 2), heads_of(v, 2)), p, "out")


def decoder(x: Any, p: P) -> Any:
    y = 2 * x
    x = x + attention(layer_normed(x, p, "norm"), at(p, "attention"), allowed=CAUSAL)
    x = x + crossed(layer_normed(x, p, "norm-2"), y, at(p, "cross-attention"))
    return x + forward(layer_normed(x, p, "norm-3"), at(p, "mlp"))


def lstm(x: Any, p: P, hidden: int = 3) -> Any:
    h = c = np.zeros((2, hidden))
    found = []
    for n in range(x.shape[1]):
        i, f, g, o = np.split(x[:, n] @ p["w"] + h @ p["u"] + p["b"], 4, -1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found, 1), h, c


def gru(x: Any, p: P, h: Any = None) -> Any:
    h, found = np.zeros((2, 3)) if h is None else h, []
    for n in range(x.shape[1]):
        xr, xz, xn = np.split(x[:, n] @ p["w"] + p["b"], 3, -1)
        hr, hz, hn = np.split(h @ p["u"], 3, -1)
        z = sigmoid(xz + hz)
        h = (1 - z) * np.tanh(xn + sigmoid(xr + hr) * (hn + p["c"])) + z * h
        found.append(h)
    return np.stack(found, 1)


def rnn(x: Any, p: P) -> Any:
    h = np.zeros((2, 3))
    found = []
    for n in range(6):
        h = np.tanh(x[:, n] @ p["w"] + h @ p["u"] + p["b"])
        found.append(h)
    return np.stack(found, 1)


def both_ways(x: Any, p: P) -> Any:
    back = lstm(x[:, ::-1], at(p, "backward"))[0][:, ::-1]
    return np.concatenate([lstm(x, at(p, "forward"))[0], back], -1)


def min_gru(x: Any, p: P) -> Any:
    z, new = sigmoid(map_of(x, p, "z")), map_of(x, p, "h")
    h, found = 0.0, []
    for n in range(6):
        h = (1 - z[:, n]) * h + z[:, n] * new[:, n]
        found.append(h)
    return np.stack(found, 1)


def left_conv(x: Any, w: Any, dilation: int = 1) -> Any:
    """w (k i o)."""
    k = len(w)
    wide = np.pad(x, ((0, 0), (dilation * (k - 1), 0), (0, 0)))
    return sum(wide[:, j * dilation : j * dilation + x.shape[1]] @ w[j] for j in range(k))


def mamba(x: Any, p: P) -> Any:
    u, z = np.split(x @ p["in/w"], 2, -1)
    each = np.pad(u, ((0, 0), (3, 0), (0, 0)))
    u = silu(sum(each[:, j : j + 6] * p["conv/w"][j, 0] for j in range(4)) + p["conv/b"])
    parts = u @ p["x/w"]
    dt, b, c = parts[..., :1], parts[..., 1:4], parts[..., 4:]
    dt = np.log1p(np.exp(dt @ p["dt/w"] + p["dt/b"]))
    a, h, found = -np.exp(p["a-log"]), 0.0, []
    for n in range(6):
        h = np.exp(dt[:, n, :, None] * a) * h + (dt * u)[:, n, :, None] * b[:, n, None, :]
        found.append((h * c[:, n, None, :]).sum(-1))
    return ((np.stack(found, 1) + p["skip"] * u) * silu(z)) @ p["out/w"]


def rg_lru(x: Any, p: P, h: Any = 0.0) -> Any:
    r, i = sigmoid(map_of(x, p, "a")), sigmoid(map_of(x, p, "i"))
    found = []
    for n in range(x.shape[1]):
        a = sigmoid(p["lambda"]) ** (8 * r[:, n])
        h = a * h + np.sqrt(1 - a**2) * i[:, n] * x[:, n]
        found.append(h)
    return np.stack(found, 1)


def mamba2(x: Any, p: P, s: int = 3) -> Any:
    """Place after place: 16 inner channels, four heads of four."""
    z, u, dt = np.split(x @ p["in/w"], [16, 32 + 2 * s], -1)
    each = np.pad(u, ((0, 0), (3, 0), (0, 0)))
    u = silu(sum(each[:, j : j + 6] * p["conv/w"][j, 0] for j in range(4)) + p["conv/b"])
    u, b, c = np.split(u, [16, 16 + s], -1)
    u = u.reshape(2, 6, 4, 4)
    dt = np.log1p(np.exp(dt + p["dt-bias"]))[..., None, None]
    a, h, found = -np.exp(p["a-log"])[:, None, None], 0.0, []
    for n in range(6):
        h = np.exp(dt[:, n] * a) * h + dt[:, n] * u[:, n, ..., None] * b[:, n, None, None]
        found.append((h * c[:, n, None, None]).sum(-1) + p["skip"][:, None] * u[:, n])
    y = np.stack(found, 1).reshape(2, 6, 16) * silu(z)
    y = y / np.sqrt((y**2).mean(-1, keepdims=True) + 1e-6) * p["norm/weight"]
    return y @ p["out/w"]


def moe(x: Any, p: P, room: int = 6, top: int = 2) -> Any:
    """Choices one after another: first choices of all tokens, then the second."""
    share = softmax(x @ p["router/w"])
    found = np.zeros_like(x, dtype="f8")
    for row in range(2):
        order = np.argsort(-share[row], -1, kind="stable")[:, :top]
        taken = np.zeros(4, int)
        for rank in range(top):
            for n in range(6):
                e = order[n, rank]
                taken[e] += 1
                if taken[e] <= room:
                    h = silu(x[row, n] @ p["gate/w"][e]) * (x[row, n] @ p["up/w"][e])
                    weight = share[row, n, e] / share[row, n, order[n]].sum()
                    found[row, n] += weight * (h @ p["down/w"][e])
    return found


def graph_conv(x: Any, p: P) -> Any:
    a = np.eye(5)
    np.add.at(a, (EDGES[1], EDGES[0]), 1)
    root = 1 / np.sqrt(a.sum(1))
    return root[:, None] * a * root @ x @ p["w"] + p["b"]


def graph_attention(x: Any, p: P) -> Any:
    h = np.einsum("nd,dho->nho", x, p["w"])
    a = np.eye(5, dtype=bool)
    a[EDGES[1], EDGES[0]] = True
    said = (h * p["source"]).sum(-1)[None] + (h * p["target"]).sum(-1)[:, None]
    share = softmax(np.where(a[..., None], np.where(said > 0, said, 0.2 * said), -1e30), 1)
    return np.einsum("tsh,sho->tho", share, h).reshape(5, -1)


def spectral(x: Any, p: P) -> Any:
    """Three vectors of the left, two of the right between them."""
    w, u = p["w"], p["u"] / np.linalg.norm(p["u"])
    for _ in range(2):
        v = w @ u / np.linalg.norm(w @ u)
        u = v @ w / np.linalg.norm(v @ w)
    v = w @ u / np.linalg.norm(w @ u)
    return x @ w / (v @ w @ u) + p["b"]


def ada(x: Any, p: P) -> Any:
    s, t = np.split(map_of(C, p, "map"), 2, -1)
    return normed(x, 1e-6) * (1 + s[:, None]) + t[:, None]


def same_conv(x: Any, w: Any, b: Any = 0) -> Any:
    """Size 3 in both axes of (b h w c)."""
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    n, m = x.shape[1:3]
    return sum(wide[:, i : i + n, j : j + m] @ w[i, j] for i in range(3) for j in range(3)) + b


def group_normed(x: Any, p: P, name: str, groups: int = 2) -> Any:
    y = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    y = (y - y.mean((1, 3), keepdims=True)) / np.sqrt(y.var((1, 3), keepdims=True) + 1e-5)
    return y.reshape(x.shape) * p[f"{name}/weight"] + p[f"{name}/bias"]


def unet(x: Any, p: P) -> Any:
    y = same_conv(silu(group_normed(x, p, "group-norm")), p["conv/w"], p["conv/b"])
    y = y + map_of(silu(C), p, "time")[:, None, None]
    y = same_conv(silu(group_normed(y, p, "group-norm-2")), p["conv-2/w"], p["conv-2/b"])
    return y + x @ p["shortcut/w"][0, 0]


def batch_normed(x: Any, p: P, name: str) -> Any:
    axes = tuple(range(x.ndim - 1))
    y = (x - x.mean(axes)) / np.sqrt(x.var(axes) + 1e-5)
    return y * p[f"{name}/weight"] + p[f"{name}/bias"]


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def every(x: Any, stride: int) -> Any:
    """What a window with a stride keeps of one without, padded alike."""
    return x[:, ::stride, ::stride]


def residual(x: Any, p: P, stride: int = 1) -> Any:
    y = relu(batch_normed(every(same_conv(x, p["conv/w"]), stride), p, "norm"))
    y = batch_normed(same_conv(y, p["conv-2/w"]), p, "norm-2")
    return relu(y + every(x, stride) @ p["shortcut/w"][0, 0])


def bottleneck(x: Any, p: P, stride: int = 1) -> Any:
    y = relu(batch_normed(x @ p["conv/w"][0, 0], p, "norm"))
    y = relu(batch_normed(every(same_conv(y, p["conv-2/w"]), stride), p, "norm-2"))
    y = batch_normed(y @ p["conv-3/w"][0, 0], p, "norm-3")
    return relu(y + every(x, stride) @ p["shortcut/w"][0, 0])


def depthwise(x: Any, w: Any, b: Any = 0) -> Any:
    k = len(w) // 2
    wide = np.pad(x, ((0, 0), (k, k), (k, k), (0, 0)))
    size = range(2 * k + 1)
    return sum(wide[:, i : i + 6, j : j + 6] * w[i, j, 0] for i in size for j in size) + b


def excited(x: Any, p: P) -> Any:
    h = relu(map_of(x.mean((1, 2)), p, "down"))
    return x * sigmoid(map_of(h, p, "up"))[:, None, None]


def inverted(x: Any, p: P) -> Any:
    y = np.clip(batch_normed(x @ p["expand/w"][0, 0], p, "norm"), 0, 6)
    y = np.clip(batch_normed(depthwise(y, p["depthwise/w"]), p, "norm-2"), 0, 6)
    y = excited(y, at(p, "squeeze-excite"))
    return x + batch_normed(y @ p["project/w"][0, 0], p, "norm-3")


def convnext(x: Any, p: P) -> Any:
    y = normed(depthwise(x, p["depthwise/w"], p["depthwise/b"]), 1e-6)
    y = y * p["layer-norm/weight"] + p["layer-norm/bias"]
    return x + forward(y, at(p, "mlp")) * p["layer-scale/scale"]


def quantized(x: Any, p: P) -> Any:
    far = ((x[..., None, :] - p["codebook"]) ** 2).sum(-1)
    return p["codebook"][far.argmin(-1)]


def time_embedding() -> Any:
    angle = TIMES[:, None] * 10000.0 ** (-np.arange(3) / 3)
    return np.concatenate([np.sin(angle), np.cos(angle)], -1)


def pairs() -> Any:
    dots = X @ X.transpose(0, 2, 1)
    return np.stack([dots[:, i, j] for i in range(6) for j in range(i)], -1)
