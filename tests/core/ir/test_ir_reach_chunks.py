"""Positions through reshapes: causal models by chunks are proved, twins that leak are not."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sexpgpu_core.ir import Builder, Value
from sexpgpu_core.ir.dependence import Dependence
from sexpgpu_core.ir.ops import OPERATIONS, loops
from sexpgpu_core.ir.reach import EVERYWHERE, along

sys.path.append(str(Path(__file__).parents[2] / "graphs"))
from causal_parts import cut, late, scores, upto
from seen_positions import violations

B, N, C, D = 2, 4, 3, 2
T = N * C
Model = Callable[[Builder, Value, int], Value]
"""The last number: how many positions too far it reads, 0 or 1."""


def by_chunks(b: Builder, x: Value) -> Value:
    return b("reshape", x, shape=(B, N, C, D))


def whole(b: Builder, x: Value) -> Value:
    return b("reshape", x, shape=(B, T, D))


def attended(b: Builder, q: Value, k: Value, more: int) -> Value:
    mask = upto(b, q.shape[-2], k.shape[-2], more)
    share = b("softmax", scores(b, q, k), mask, axis=len(q.shape) - 1)
    return b("matmul", share, k)


def within(b: Builder, x: Value, more: int = 0) -> Value:
    """Scores with what comes later in the chunk taken out, times values."""
    s = scores(b, x, x)
    left = b("where", upto(b, x.shape[-2], x.shape[-2], more), s, b.constant(0.0, "f32"))
    return b("matmul", left, x)


def states(b: Builder, x: Value) -> Value:
    return b("matmul", b("tanh", x), x, **{"transpose-x": True})


def linear_attention(b: Builder, x: Value, leak: int) -> Value:
    """States of the chunks before, by a running sum that is one chunk late."""
    parts = by_chunks(b, x)
    before = b("cumsum", states(b, parts), axis=1)
    before = before if leak else late(b, before, 1)
    return whole(b, b("add", within(b, parts), b("matmul", parts, before)))


def linear_attention_leaky_inside(b: Builder, x: Value, leak: int) -> Value:
    parts = by_chunks(b, x)
    before = late(b, b("cumsum", states(b, parts), axis=1), 1)
    return whole(b, b("add", within(b, parts, leak), b("matmul", parts, before)))


def in_a_loop(b: Builder, x: Value, step: Callable[..., tuple[Value, Value]], state: Any) -> Value:
    """A loop over chunks: step(body, state, chunk) -> the next state, what the chunk gives."""
    body = Builder(OPERATIONS)
    carry = body.input("carry:0", "body", "f32", state)
    part = body.input("x:0", "body", "f32", (B, C, D))
    after, given = step(body, carry, part)
    body.graph.results = {"carry:0": after, "y:1": given}
    rows = b("permute", by_chunks(b, x), axes=(1, 0, 2, 3))
    start = b.constant(0.0, "f32", state)
    made = loops.scan(b, body.graph, {"carry:0": start, "x:0": rows}, N)
    return whole(b, b("permute", made["y:1"], axes=(1, 0, 2, 3)))


def mamba(b: Builder, x: Value, leak: int) -> Value:
    """A running sum in each chunk, on top of what the chunks before left."""

    def step(b: Builder, state: Value, part: Value) -> tuple[Value, Value]:
        running = b("cumsum", part, axis=1)
        after = b("add", state, cut(b, running, 1, C - 1, C))
        return after, b("add", running, after if leak else state)

    return in_a_loop(b, x, step, (B, 1, D))


def retention(b: Builder, x: Value, leak: int) -> Value:
    def step(b: Builder, state: Value, part: Value) -> tuple[Value, Value]:
        kept = b("multiply", state, b.constant(0.5, "f32"))
        after = b("add", kept, states(b, part))
        return after, b("add", within(b, part, leak), b("matmul", part, state))

    return in_a_loop(b, x, step, (B, D, D))


def loop_in_a_loop(b: Builder, x: Value, leak: int) -> Value:
    def step(b: Builder, state: Value, part: Value) -> tuple[Value, Value]:
        body = Builder(OPERATIONS)
        carry, row = (body.input(n, "body", "f32", (B, D)) for n in ("carry:0", "x:0"))
        mixed = body("tanh", body("add", carry, row))
        body.graph.results = {"carry:0": mixed, "y:1": mixed}
        rows = b("permute", part, axes=(1, 0, 2))
        made = loops.scan(b, body.graph, {"carry:0": state, "x:0": rows}, C, bool(leak))
        return made["carry:0"], b("permute", made["y:1"], axes=(1, 0, 2))

    return in_a_loop(b, x, step, (B, D))


def blocks(b: Builder, x: Value, leak: int) -> Value:
    """Attention of each block over all keys up to its end, masked."""
    found = []
    for i in range(N):
        q, k = cut(b, x, 1, i * C, (i + 1) * C), cut(b, x, 1, 0, (i + 1) * C)
        found.append(attended(b, q, k, i * C + leak))
    return b("concat", *found, axis=1)


def block_by_block(b: Builder, x: Value, leak: int) -> Value:
    """Sums over earlier blocks without a mask, over its own with one."""
    parts = [cut(b, x, 1, i * C, (i + 1) * C) for i in range(N)]
    found = []
    for i, q in enumerate(parts):
        total = within(b, q)
        for k in parts[: i + leak]:
            total = b("add", total, b("matmul", b("exp", scores(b, q, k)), k))
        found.append(total)
    return b("concat", *found, axis=1)


def windows(b: Builder, x: Value, leak: int) -> Value:
    """Keys of the chunk before and its own."""
    parts = by_chunks(b, x)
    keys = b("concat", late(b, parts, 1), parts, axis=2)
    return whole(b, attended(b, parts, keys, C + leak))


def local(b: Builder, x: Value, leak: int) -> Value:
    """Chunks as examples."""
    q = b("reshape", x, shape=(B * N, C, 1, D))
    more: dict[str, Any] = {} if leak else {"causal": True}
    return whole(b, b("attention", q, q, q, **more))


def laid_flat(b: Builder, x: Value, leak: int) -> Value:
    """All positions of all examples in one axis; a shift there goes into the next example."""
    rows = b("reshape", x, shape=(B * T, D))
    rows = b("matmul", rows, b.constant(0.5, "f32", (D, D)))
    return whole(b, late(b, rows, 0) if leak else rows)


def with_einsum(b: Builder, x: Value, leak: int) -> Value:
    parts = by_chunks(b, x)
    s = b("einsum", parts, parts, subscripts="bnid,bnjd->bnij")
    share = b("softmax", s, upto(b, C, C, leak), axis=3)
    return whole(b, b("einsum", share, parts, subscripts="bnij,bnjd->bnid"))


def first_of_each(b: Builder, x: Value, leak: int) -> Value:
    """The first position of a chunk to all of it, or the second."""
    parts = by_chunks(b, x)
    return whole(b, b("add", parts, cut(b, parts, 2, leak, leak + 1)))


def other_chunks(b: Builder, x: Value, leak: int) -> Value:
    """Split, merged, split by other sizes, and merged."""
    parts = b("reshape", by_chunks(b, x), shape=(B, C, N, D))
    return whole(b, b("cumsum", parts, axis=2, reverse=bool(leak)))


def turned_round(b: Builder, x: Value, leak: int) -> Value:
    """Each chunk turned round, laid out whole, and turned back or not."""
    turned = whole(b, b("tanh", b("flip", by_chunks(b, x), axes=(2,))))
    return turned if leak else whole(b, b("flip", by_chunks(b, turned), axes=(2,)))


MODELS: dict[str, Model] = {
    "linear attention": linear_attention,
    "linear attention, inside a chunk": linear_attention_leaky_inside,
    "a state space by chunks": mamba,
    "retention": retention,
    "a loop in a loop": loop_in_a_loop,
    "blocks with masks": blocks,
    "blocks one by one": block_by_block,
    "windows": windows,
    "chunks as examples": local,
    "laid flat": laid_flat,
    "products by names": with_einsum,
    "the first of each": first_of_each,
    "other chunks": other_chunks,
    "turned round": turned_round,
}


def analysed(model: Model, leak: int) -> tuple[Builder, Value, Dependence]:
    b = Builder(OPERATIONS)
    x = b.input("x", "batch", "f32", (B, T, D))
    y = model(b, x, leak)
    b.graph.results["y"] = y
    return b, y, Dependence(b.graph, OPERATIONS, [x], 1)


@pytest.mark.parametrize("what", MODELS)
def test_a_causal_model_by_chunks_is_found_causal(what: str) -> None:
    _, y, found = analysed(MODELS[what], 0)
    assert found.of(y).upto(1), found.of(y)
    assert found.leak(y, 1) is None


@pytest.mark.parametrize("what", MODELS)
def test_its_twin_that_reads_one_too_far_is_not(what: str) -> None:
    _, y, found = analysed(MODELS[what], 1)
    assert not found.of(y).upto(1), found.of(y)
    assert found.leak(y, 1) is not None


@pytest.mark.parametrize("leak", [0, 1])
@pytest.mark.parametrize("what", MODELS)
def test_a_model_by_chunks_reads_nothing_outside_its_reach(what: str, leak: int) -> None:
    b, y, found = analysed(MODELS[what], leak)
    data = {"x": np.random.default_rng(0).standard_normal((B, T, D)).astype("f4")}
    assert violations(b.graph, found, {"y": y}, data, "x", 1) == []


def test_a_split_and_a_merge_are_exact() -> None:
    for shape in ((B, N, C, D), (B * T, D), (B * N, C, D), (T, B, D), (B, 2, 2, C, D)):
        b = Builder(OPERATIONS)
        x = b.input("x", "batch", "f32", (B, T, D))
        there = b("tanh", b("reshape", x, shape=shape))
        found = Dependence(b.graph, OPERATIONS, [x], 1)
        assert found.of(there) != EVERYWHERE
        back = b("reshape", there, shape=(B, T, D))
        found = Dependence(b.graph, OPERATIONS, [x], 1)
        assert found.of(back) == along(1)
