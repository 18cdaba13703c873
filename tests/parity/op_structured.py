"""Contractions, attention, windows and moves beside PyTorch's functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from op_row import Row, Shape, row
from torch.nn import functional as F  # noqa: N812 - torch's own usage


def contractions() -> list[Row]:
    pairs = (
        ((3, 4), (4, 2)),
        ((1, 1), (1, 1)),
        ((17, 33), (33, 65)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((3, 4), (2, 4, 5)),
        ((130, 70), (70, 31)),
        ((1, 300), (300, 1)),
    )
    turned = lambda s: (*s[:-2], s[-1], s[-2])
    found: list[Row] = []
    for a, c in pairs:
        found += [
            row("matmul", [a, c], torch.matmul),
            row("matmul", [turned(a), c], lambda x, y: x.mT @ y, "-tx", transpose_x=True),
            row("matmul", [a, turned(c)], lambda x, y: x @ y.mT, "-ty", transpose_y=True),
        ]
    for subscripts, *shapes in (
        ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        ("ij,jk->ki", (3, 7), (7, 5)),
        ("ii->i", (3, 3)),
        ("ab,ab,ab->a", (2, 3), (2, 3), (2, 3)),
    ):
        call = lambda *x, s=subscripts: torch.einsum(s, *x)
        found.append(row("einsum", shapes, call, f"-{subscripts}", subscripts=subscripts))
    return found


def heads_first(f: Callable[..., Any]) -> Callable[..., Any]:
    """(b n h d) of ours to torch's (b h n d) and back."""
    return lambda q, k, v, **more: f(*(x.transpose(1, 2) for x in (q, k, v)), **more).transpose(
        1, 2
    )


def attentions() -> list[Row]:
    plain = heads_first(F.scaled_dot_product_attention)
    causal = lambda *x: plain(*x, is_causal=True)
    found: list[Row] = []
    for b, n, h, d in ((1, 1, 1, 1), (2, 5, 3, 8), (1, 64, 4, 32), (2, 17, 1, 5), (3, 33, 2, 16)):
        x = (b, n, h, d)
        found += [
            row("attention", [x, x, x], plain),
            row("attention", [x, x, x], causal, "-causal", causal=True),
        ]
    q, kv = (2, 7, 4, 8), (2, 7, 2, 8)
    found.append(
        row(
            "attention",
            [q, kv, kv],
            lambda q, k, v: plain(q, k, v, is_causal=True, enable_gqa=True),
            "-grouped",
            causal=True,
        )
    )
    found.append(row("attention", [(1, 3, 2, 4), (1, 9, 2, 4), (1, 9, 2, 5)], plain, "-cross"))
    return found


CONV: dict[int, Any] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
MAX: dict[int, Any] = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG: dict[int, Any] = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def channels_first(f: Callable[..., Any]) -> Callable[..., Any]:
    """Ours has channels last: (b n... c); a kernel is (k... i o), torch's (o i k...)."""

    def call(x: Any, *w: Any) -> Any:
        turned = [v.movedim(-1, 0).movedim(-1, 1) for v in w]
        return f(x.movedim(-1, 1), *turned).movedim(1, -1)

    return call


def pool(
    sizes: Shape, strides: Shape, padding: Shape, of: dict[int, Any], **more: Any
) -> Callable[[Any], Any]:
    return lambda x: of[len(sizes)](x, sizes, stride=strides, padding=padding, **more)


def windows() -> list[Row]:
    convs = (  # x, w, stride, dilation, padding, groups
        ((2, 9, 3), (3, 3, 4), (1,), (1,), (1,), 1),
        ((1, 1, 1), (1, 1, 1), (1,), (1,), (0,), 1),
        ((1, 17, 4), (5, 2, 6), (2,), (2,), (3,), 2),
        ((2, 7, 6, 3), (3, 3, 3, 5), (1, 1), (1, 1), (1, 1), 1),
        ((1, 11, 8, 4), (3, 2, 2, 6), (2, 1), (1, 2), (1, 2), 2),
        ((3, 28, 28, 1), (5, 5, 1, 8), (1, 1), (1, 1), (2, 2), 1),
        ((2, 9, 9, 16), (1, 1, 16, 3), (2, 2), (1, 1), (0, 0), 1),
        ((1, 5, 4, 3, 2), (3, 2, 2, 2, 3), (1, 2, 1), (1, 1, 1), (1, 0, 1), 1),
    )
    found: list[Row] = []
    for x, w, strides, dilations, padding, groups in convs:
        f = lambda x, w, s=strides, d=dilations, p=padding, g=groups: CONV[len(s)](
            x, w, stride=s, dilation=d, padding=p, groups=g
        )
        at = {"strides": strides, "dilations": dilations, "groups": groups}
        both = tuple((p, p) for p in padding)
        found.append(row("conv", [x, w], channels_first(f), padding=both, **at))
    pools = (  # x, size, stride, padding
        ((2, 9, 3), (2,), (2,), (0,)),
        ((1, 1, 1), (1,), (1,), (0,)),
        ((2, 11, 2), (3,), (2,), (1,)),
        ((1, 28, 28, 8), (2, 2), (2, 2), (0, 0)),
        ((2, 7, 5, 3), (3, 2), (1, 2), (1, 1)),
        ((1, 5, 4, 6, 2), (2, 2, 3), (2, 1, 3), (0, 1, 1)),
    )
    for x, sizes, strides, padding in pools:
        both = tuple((p, p) for p in padding)
        at = {"sizes": sizes, "strides": strides, "padding": both}
        of = partial(pool, sizes, strides, padding)
        found += [
            row("max-pool", [x], channels_first(of(MAX)), **at),
            row("avg-pool", [x], channels_first(of(AVG, count_include_pad=False)), **at),
            row(
                "avg-pool",
                [x],
                channels_first(of(AVG, count_include_pad=True)),
                "-padded",
                count_padding=True,
                **at,
            ),
        ]
    return found


def moves() -> list[Row]:
    index = lambda n, shape: (shape, ("i", n))
    wide = lambda i: i.long()
    return [
        row("reshape", [(3, 10)], lambda x: x.reshape(5, 1, 6), shape=(5, 1, 6)),
        row("permute", [(2, 3, 17)], lambda x: x.permute(2, 0, 1), axes=(2, 0, 1)),
        row("broadcast-to", [(3, 1)], lambda x: x.expand(2, 3, 9), shape=(2, 3, 9)),
        row("flip", [(3, 5)], lambda x: x.flip(1), axes=(1,)),
        row("slice", [(7, 9)], lambda x: x[1:6:2, 3:], starts=(1, 3), stops=(6, 9), steps=(2, 1)),
        row(
            "pad",
            [(3, 5)],
            lambda x: F.pad(x, (0, 2, 1, 0), value=0.5),
            low=(1, 0),
            high=(0, 2),
            value=0.5,
        ),
        row("concat", [(2, 3), (2, 1), (2, 7)], lambda *x: torch.cat(x, 1), axis=1),
        row("gather", [(65, 9), index(65, (3, 7))], lambda x, i: F.embedding(i, x), axis=0),
        row("gather", [(5, 3), index(5, ())], lambda x, i: x[i], "-one", axis=0),
        row("take-along", [(3, 9), index(9, (3, 4))], lambda x, i: x.gather(1, wide(i)), axis=1),
        row(
            "scatter-add",
            [(5, 3), index(5, (8,)), (8, 3)],
            lambda x, i, y: x.index_add(0, i, y),
            axis=0,
        ),
        row(
            "one-hot",
            [index(7, (9,))],
            lambda i: F.one_hot(i, 7),
            differentiable=False,
            n=7,
            axis=1,
            dtype="f32",
        ),
    ]  # fmt: skip
