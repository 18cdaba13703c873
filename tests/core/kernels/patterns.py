"""Graphs that training makes, written in primitives, for the tests of fusion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sexpgpu_core.autodiff.reverse import differentiate
from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.ops import OPERATIONS


def sized(x: Value, axes: Iterable[int]) -> int:
    n = 1
    for a in axes:
        n *= x.shape[a]
    return n


def mean(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    total = b("reduce-sum", x, axes=axes, keep=True)
    return b("multiply", total, b.like(1 / sized(x, axes), x))


def total(b: Builder, x: Value) -> Value:
    axes = tuple(range(len(x.shape)))
    return b("reduce-sum", x, axes=axes, keep=False) if axes else x


def gradients(b: Builder, loss: Value, wrt: Sequence[Value]) -> list[Value]:
    names = {str(i): v for i, v in enumerate(wrt)}
    found = differentiate(b.graph, OPERATIONS, loss, names)
    return [found[n] for n in names]  # type: ignore[misc]


def layer_norm(b: Builder, x: Value, w: Value, bias: Value) -> Value:
    axes = (len(x.shape) - 1,)
    centred = b("subtract", x, mean(b, x, axes))
    variance = mean(b, b("square", centred), axes)
    scale = b("rsqrt", b("add", variance, b.like(1e-5, x)))
    return b("add", b("multiply", b("multiply", centred, scale), w), bias)


def gelu(b: Builder, x: Value) -> Value:
    cube = b("multiply", x, b("square", x))
    inner = b("add", x, b("multiply", b.like(0.044715, x), cube))
    angle = b("multiply", b.like(0.7978845608, x), inner)
    half = b("multiply", b.like(0.5, x), x)
    return b("multiply", half, b("add", b.like(1.0, x), b("tanh", angle)))


def softmax(b: Builder, x: Value) -> Value:
    axes = (len(x.shape) - 1,)
    top = b("stop-gradient", b("reduce-max", x, axes=axes, keep=True))
    e = b("exp", b("subtract", x, top))
    return b("divide", e, b("reduce-sum", e, axes=axes, keep=True))


def causal(b: Builder, scores: Value) -> Value:
    n = scores.shape[-1]
    i = b("iota", dtype="i32", shape=(n, n), axis=0)
    j = b("iota", dtype="i32", shape=(n, n), axis=1)
    return b("where", b("greater-equal", i, j), scores, b.like(-1e9, scores))


def cross_entropy(b: Builder, logits: Value, labels: Value) -> Value:
    axis = len(logits.shape) - 1
    top = b("stop-gradient", b("reduce-max", logits, axes=(axis,), keep=True))
    centred = b("subtract", logits, top)
    sums = b("log", b("reduce-sum", b("exp", centred), axes=(axis,), keep=True))
    index = b("reshape", labels, shape=(*labels.shape, 1))
    return b("subtract", sums, b("take-along", centred, index, axis=axis))


def adam(b: Builder, path: str, p: Value, g: Value, lr: Value) -> None:
    """The update of one parameter as commits."""
    m = b.input(f"{path}/m", "optimizer", "f32", p.shape)
    v = b.input(f"{path}/v", "optimizer", "f32", p.shape)
    m1 = b("add", b("multiply", m, b.like(0.9, m)), b("multiply", g, b.like(0.1, m)))
    v1 = b("add", b("multiply", v, b.like(0.99, v)), b("multiply", b("square", g), b.like(0.01, v)))
    step = b("divide", m1, b("add", b("sqrt", v1), b.like(1e-3, m)))
    decayed = b("add", step, b("multiply", p, b.like(0.1, p)))
    results = b.graph.results
    results[f"next:parameter:{path}"] = b("subtract", p, b("multiply", lr, decayed))
    results[f"next:optimizer:{path}/m"] = m1
    results[f"next:optimizer:{path}/v"] = v1


def linear(b: Builder, x: Value, path: str, columns: int) -> Value:
    w = b.input(f"{path}/w", "parameter", "f32", (x.shape[-1], columns))
    return b("add", b("matmul", x, w), b.input(f"{path}/b", "parameter", "f32", (columns,)))


def norm_of(b: Builder, x: Value, path: str) -> Value:
    w = b.input(f"{path}/w", "parameter", "f32", x.shape[-1:])
    return layer_norm(b, x, w, b.input(f"{path}/b", "parameter", "f32", x.shape[-1:]))


def heads(b: Builder, x: Value, start: int, count: int) -> Value:
    """(b t 3d) to (b h t d/h) of one third."""
    n, t, d3 = x.shape
    d = d3 // 3
    cut = b("slice", x, starts=(0, 0, start * d), stops=(n, t, start * d + d), steps=(1, 1, 1))
    return b("permute", b("reshape", cut, shape=(n, t, count, d // count)), axes=(0, 2, 1, 3))


def block(b: Builder, x: Value, path: str, count: int) -> Value:
    n, t, d = x.shape
    qkv = linear(b, norm_of(b, x, f"{path}/norm1"), f"{path}/qkv", 3 * d)
    q, k, v = (heads(b, qkv, i, count) for i in range(3))
    scores = b("multiply", b("matmul", q, k, **{"transpose-y": True}), b.like(0.17, q))
    y = b("matmul", softmax(b, causal(b, scores)), v)
    y = b("reshape", b("permute", y, axes=(0, 2, 1, 3)), shape=(n, t, d))
    x = b("add", x, linear(b, y, f"{path}/out", d))
    h = gelu(b, linear(b, norm_of(b, x, f"{path}/norm2"), f"{path}/up", 4 * d))
    return b("add", x, linear(b, h, f"{path}/down", d))


def gpt(
    b: Builder, layers: int = 1, batch: int = 2, context: int = 8, width: int = 32, words: int = 13
) -> Value:
    """The loss of a small GPT."""
    tokens = b.input("tokens", "batch", "i32", (batch, context))
    labels = b.input("labels", "batch", "i32", (batch, context))
    table = b.input("wte", "parameter", "f32", (words, width))
    places = b.input("wpe", "parameter", "f32", (context, width))
    x = b("add", b("gather", table, tokens, axis=0), places)
    for i in range(layers):
        x = block(b, x, f"h/{i}", 4)
    logits = b("matmul", norm_of(b, x, "norm"), table, **{"transpose-y": True})
    loss = total(b, cross_entropy(b, logits, labels))
    return b("multiply", loss, b.constant(1 / (batch * context), "f32"))


def training_step(b: Builder, loss: Value) -> None:
    """Gradients, norm, verdict, clip and updates, as step/ makes them."""
    parameters = [Value(n) for n in b.graph.inputs() if n.get("kind") == "parameter"]
    found = gradients(b, loss, parameters)
    norm: Value | None = None
    for g in found:
        part = total(b, b("square", g))
        norm = part if norm is None else b("add", norm, part)
    assert norm is not None
    norm = b("sqrt", norm)
    results, one = b.graph.results, b.constant(1.0, "f32")
    results["loss"], results["norm"] = loss, norm
    results["verdict"] = b("logical-and", b("is-finite", norm), b("is-finite", loss))
    clip = b("minimum", one, b("divide", one, b("add", norm, b.constant(1e-6, "f32"))))
    lr = b.input("lr", "scalar", "f32", ())
    for p, g in zip(parameters, found):
        adam(b, p.node.get("name"), p, b("multiply", g, clip), lr)
