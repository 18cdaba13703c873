"""Builtins that are made of several operations beside PyTorch's functions of the same name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from builtin_calls import call, within
from op_row import Row, Shape, row
from op_structured import channels_first
from torch.nn import functional as F  # noqa: N812 - torch's own usage

LINES: tuple[Shape, ...] = ((), (1,), (17,), (3, 1, 5), (0, 4))
MATRICES: tuple[Shape, ...] = ((1, 1), (3, 3), (2, 4, 4), (7, 7), (0, 3, 3))


def built(
    name: str,
    operands: Any,
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    label: str = "",
    differentiable: bool = True,
) -> Row:
    """A row whose value a function of builtins gives."""
    given = tuple(o if o and isinstance(o[0], tuple) else (o, "x") for o in operands)
    make = lambda b, *x: within(b, ours, *x)
    return Row(f"{name}{label}", given, make, theirs, differentiable)


def special() -> list[Row]:
    found = [
        row(name, [(shape, kind)], function)
        for name, kind, function in (
            ("erfinv", "u", torch.erfinv),
            ("lgamma", "+", torch.lgamma),
            ("lgamma", "1+", torch.lgamma),
        )
        for shape in LINES
    ]
    return found + [
        row("digamma", [(shape, "+")], torch.digamma, differentiable=False) for shape in LINES
    ]


def _unit(x: Any) -> torch.Tensor:
    return torch.eye(x.shape[-1], dtype=x.dtype)


def linear() -> list[Row]:
    found: list[Row] = []
    near = lambda x: call("+", call("*", x, 0.3), call("*", call("eye", x.shape[-1]), 2.0))
    theirs = lambda x: 0.3 * x + 2.0 * _unit(x)
    spd = lambda x: call("+", call("matmul", x, x, transpose_y=True), call("eye", x.shape[-1]))
    their_spd = lambda x: x @ x.mT + _unit(x)
    for shape in MATRICES:
        found += [
            built(name, [shape], lambda x, n=name: call(n, near(x)), lambda x, f=f: f(theirs(x)))
            for name, f in (
                ("inverse", torch.linalg.inv),
                ("det", torch.linalg.det),
                ("logdet", torch.logdet),
            )
        ]
        found.append(
            built(
                "cholesky",
                [shape],
                lambda x: call("cholesky", spd(x)),
                lambda x: torch.linalg.cholesky(their_spd(x)),
            )
        )
        wide = (*shape[:-1], 5)
        found.append(
            built(
                "solve",
                [shape, wide],
                lambda x, y: call("solve", near(x), y),
                lambda x, y: torch.linalg.solve(theirs(x), y),
            )
        )
        for upper in (False, True):
            found.append(
                built(
                    "solve-triangular",
                    [shape, wide],
                    lambda x, y, u=upper: call("solve-triangular", near(x), y, upper=u),
                    lambda x, y, u=upper: torch.linalg.solve_triangular(
                        (torch.triu if u else torch.tril)(theirs(x)), y, upper=u
                    ),
                    f"-{upper}",
                )
            )
        found.append(
            built(
                "eigh",
                [shape],
                lambda x: call("eigh", spd(x))[0],
                lambda x: torch.linalg.eigvalsh(their_spd(x)),
                differentiable=False,
            )
        )
    for shape in ((4, 3), (3, 4), (1, 5), (2, 6, 6), (9, 2)):
        found.append(
            built(
                "svd",
                [shape],
                lambda x: call("svd", x)[1],
                torch.linalg.svdvals,
                differentiable=False,
            )
        )
    return found


def transforms() -> list[Row]:
    parts = torch.view_as_real
    found: list[Row] = []
    for shape in ((1,), (5,), (3, 8), (2, 37), (2, 3, 12)):
        found.append(
            built("fft", [shape], lambda x: call("fft", x), lambda x: parts(torch.fft.fft(x)))
        )
        found.append(
            built(
                "fft",
                [(*shape, 2)],
                lambda x: call("fft", x, inverse=True),
                lambda x: parts(torch.fft.ifft(torch.view_as_complex(x.contiguous()))),
                "-inverse",
            )
        )
    return found


def alignments() -> list[Row]:
    """All lengths whole: PyTorch wants them as operands of the host."""
    found: list[Row] = []
    for b, t, c, n in ((1, 1, 3, 1), (2, 9, 5, 3), (3, 20, 4, 6), (1, 40, 30, 12), (4, 7, 9, 1)):
        steps, counts = [t] * b, [n] * b

        def theirs(x: Any, y: Any, steps: Any = steps, counts: Any = counts) -> Any:
            logs = F.log_softmax(x, 2).transpose(0, 1)
            whole = torch.tensor(steps), torch.tensor(counts)
            return F.ctc_loss(logs, y, *whole, blank=x.shape[2] - 1, reduction="none")

        def ours(x: Any, y: Any, t: int = t, n: int = n, b: int = b) -> Any:
            lengths = (call("full", [b], v) for v in (t, n))
            return call("ctc-loss", x, y, *lengths, blank=x.shape[2] - 1)

        found.append(built("ctc-loss", [(b, t, c), ((b, n), ("i", c - 1))], ours, theirs))
    return found


PLACES = (((1, 3, 4, 2), (5, 2)), ((2, 6, 8, 3), (3, 4)), ((1, 1, 1, 1), (2, 3)),
          ((1, 5, 7, 2), (11, 7)), ((2, 9, 3, 2), (4, 1)))  # fmt: skip
"""Sizes before and after. PyTorch 2.13 is wrong on a batch of 2 with one channel, antialiased."""


def pictures() -> list[Row]:
    found: list[Row] = []
    for shape, sizes in PLACES:
        for mode, theirs in (("linear", "bilinear"), ("cubic", "bicubic")):
            for aligned, smooth in ((False, False), (True, False), (False, True)):
                at = {"mode": mode, "align_corners": aligned, "antialias": smooth}
                found.append(
                    built(
                        "interpolate",
                        [shape],
                        lambda x, s=sizes, at=at: call("interpolate", x, s, **at),
                        channels_first(
                            lambda x, s=sizes, m=theirs, a=aligned, q=smooth: F.interpolate(
                                x, s, mode=m, align_corners=a, antialias=q
                            )
                        ),
                        f"-{mode}-{aligned}-{smooth}",
                    )
                )
        found += [
            built(
                "interpolate",
                [shape],
                lambda x, s=sizes: call("interpolate", x, s),
                channels_first(lambda x, s=sizes: F.interpolate(x, s)),
                "-nearest",
            ),
            built(
                "adaptive-avg-pool",
                [shape],
                lambda x, s=sizes: call("adaptive-avg-pool", x, s),
                channels_first(lambda x, s=sizes: F.adaptive_avg_pool2d(x, s)),
            ),
        ]
    return found


def grids() -> list[Row]:
    found: list[Row] = []
    modes = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    for mode, theirs in modes.items():
        for padding in ("zeros", "border", "reflection"):
            for aligned in (False, True):
                for shape, grid in (((2, 5, 4, 3), (2, 3, 2, 2)), ((1, 2, 7, 1), (1, 4, 1, 2))):
                    at = {"mode": mode, "padding": padding, "align_corners": aligned}
                    given = {"mode": theirs, "padding_mode": padding, "align_corners": aligned}
                    found.append(
                        built(
                            "grid-sample",
                            [shape, grid],
                            lambda x, g, at=at: call("grid-sample", x, g, **at),
                            lambda x, g, given=given: F.grid_sample(
                                x.movedim(-1, 1), g, **given
                            ).movedim(1, -1),
                            f"-{mode}-{padding}-{aligned}",
                        )
                    )
    return found


def blocks() -> list[Row]:
    found: list[Row] = []
    for shape, factor in (((1, 2, 3, 4), 2), ((2, 1, 1, 9), 3), ((3, 5, 4, 8), 2)):
        found.append(
            built(
                "pixel-shuffle",
                [shape],
                lambda x, r=factor: call("pixel-shuffle", x, r),
                channels_first(lambda x, r=factor: F.pixel_shuffle(x, r)),
            )
        )
    for shape, size, stride in (((2, 9, 3), 4, 2), ((1, 1, 1), 1, 1), ((3, 17, 2), 5, 3)):
        found.append(
            built(
                "unfold",
                [shape],
                lambda x, k=size, s=stride: call("unfold", x, k, stride=s),
                lambda x, k=size, s=stride: x.unfold(1, k, s).movedim(-1, -2),
            )
        )
    for shape, count in (((6, 3), 4), ((1, 1), 1), ((17, 2), 5), ((9,), 3), ((5, 2, 3), 2)):
        for side in ("max", "min"):
            found.append(
                built(
                    f"segment-{side}",
                    [shape, ((shape[0],), ("i", count))],
                    lambda x, i, n=count, s=side: call(f"segment-{s}", x, i, n),
                    lambda x, i, n=count, s=side: torch.zeros(
                        (n, *x.shape[1:]), dtype=x.dtype
                    ).scatter_reduce(
                        0,
                        i.reshape(-1, *[1] * (x.dim() - 1)).expand_as(x),
                        x,
                        f"a{s}",
                        include_self=False,
                    ),
                )
            )
    for a, c in (((2, 3), (3, 2)), ((4,), (3,)), ((1, 1), (5, 2)), ((2, 1, 2), (2, 2)), ((3,), ())):
        found.append(built("kron", [a, c], lambda x, y: call("kron", x, y), torch.kron))
    for q in (0.0, 0.25, 0.9, 1.0):
        for shape in ((7,), (3, 5), (4, 1)):
            found.append(
                built(
                    "quantile",
                    [shape],
                    lambda x, q=q: call("quantile", x, q, axis=-1),
                    lambda x, q=q: torch.quantile(x, q, dim=-1),
                    f"-{q}",
                    differentiable=False,
                )
            )
    return found


BUILTINS: list[Row] = [
    *special(),
    *linear(),
    *transforms(),
    *alignments(),
    *pictures(),
    *grids(),
    *blocks(),
]
