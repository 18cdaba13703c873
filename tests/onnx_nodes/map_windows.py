"""Convolution, pooling and pictures of ONNX, channels first, in ours, channels last."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from builtin_calls import call, constant
from onnx_node import Node, Unmapped, cast, channels_first, channels_last, rank

Pairs = list[list[int]]


def _each(n: Node, name: str, spatial: int) -> list[int]:
    return list(n.get(name) or [1] * spatial)


def _extent(size: int, dilation: int) -> int:
    return (size - 1) * dilation + 1


def _pads(
    n: Node, sizes: list[int], kernel: list[int], strides: list[int], dilations: list[int]
) -> Pairs:
    """Pairs an axis, of pads or auto_pad; with ceil_mode the last window's own too."""
    spatial = len(kernel)
    auto = n.get("auto_pad", "NOTSET")
    if auto == "NOTSET":
        given = list(n.get("pads") or [0] * 2 * spatial)
        pairs = [[given[i], given[i + spatial]] for i in range(spatial)]
        return [
            [low, high + _more(n, size + low + high, _extent(k, d), s, size + low)]
            for size, (low, high), k, s, d in zip(sizes, pairs, kernel, strides, dilations)
        ]
    if auto == "VALID":
        return [[0, 0]] * spatial
    found = []
    for size, k, s, d in zip(sizes, kernel, strides, dilations):
        total = max((-(-size // s) - 1) * s + _extent(k, d) - size, 0)
        less, more = total // 2, total - total // 2
        found.append([less, more] if auto == "SAME_UPPER" else [more, less])
    return found


def _more(n: Node, size: int, extent: int, stride: int, end: int) -> int:
    """What ceil_mode adds behind."""
    if not n.get("ceil_mode", 0):
        return 0
    count = -(-(size - extent) // stride) + 1
    if (count - 1) * stride >= end:
        count -= 1
    return max((count - 1) * stride + extent - size, 0)


def _kernel(w: Any) -> Any:
    """(o i k...) to (k... i o)."""
    return call("permute", w, [*range(2, rank(w)), 1, 0])


def _convolved(n: Node, x: Any, w: Any) -> Any:
    spatial = rank(x) - 2
    kernel, strides = list(w.shape[2:]), _each(n, "strides", spatial)
    dilations = _each(n, "dilations", spatial)
    pads = _pads(n, list(x.shape[2:]), kernel, strides, dilations)
    return channels_first(
        call(
            "conv", channels_last(x), _kernel(w), stride=strides, dilation=dilations,
            padding=pads, groups=n.get("group", 1),
        )
    )  # fmt: skip


def _biased(y: Any, bias: Any) -> Any:
    """A bias a channel, channels first."""
    return y if bias is None else call("+", y, call("reshape", bias, [-1, *[1] * (rank(y) - 2)]))


def _conv(n: Node) -> Any:
    return _biased(_convolved(n, n[0], n[1]), n.maybe(2))


def _conv_integer(n: Node) -> Any:
    x, w = cast(n[0], "f32"), cast(n[1], "f32")
    if n.has(2):
        x = call("-", x, cast(n[2], "f32"))
    if n.has(3):
        zero = cast(n[3], "f32")  # one, or one a result channel
        column = call("reshape", zero, [-1, *[1] * (rank(w) - 1)]) if rank(zero) else zero
        w = call("-", w, column)
    return cast(_convolved(n, x, w), "i32")


def _conv_transpose(n: Node) -> Any:
    x, w = n[0], n[1]
    spatial = rank(x) - 2
    strides, dilations = _each(n, "strides", spatial), _each(n, "dilations", spatial)
    extra = list(n.get("output_padding") or [0] * spatial)
    extents = [_extent(k, d) for k, d in zip(w.shape[2:], dilations)]
    full = [(size - 1) * s + e for size, s, e in zip(x.shape[2:], strides, extents)]
    pads = _transposed_pads(n, full, strides, extra, list(x.shape[2:]))
    for pair, i in zip(pads, range(spatial)):
        if pair[1] < 0:  # more than the sum of windows: behind it
            extra[i], pair[1] = extra[i] - pair[1], 0
    y = call(
        "conv-transpose", channels_last(x), call("permute", w, [*range(2, rank(w)), 0, 1]),
        stride=strides, dilation=dilations, padding=pads, groups=n.get("group", 1),
        output_padding=extra,
    )  # fmt: skip
    return _biased(channels_first(y), n.maybe(2))


def _transposed_pads(
    n: Node, full: list[int], strides: list[int], extra: list[int], sizes: list[int]
) -> Pairs:
    auto, wanted = n.get("auto_pad", "NOTSET"), n.get("output_shape")
    spatial = len(full)
    if auto == "NOTSET" and wanted is None:
        given = list(n.get("pads") or [0] * 2 * spatial)
        return [[given[i], given[i + spatial]] for i in range(spatial)]
    if auto == "VALID":
        return [[0, 0] for _ in full]
    wanted = wanted or [size * s for size, s in zip(sizes, strides)]
    found = []
    for whole, out, more in zip(full, wanted, extra):
        total = whole + more - out
        less = total // 2
        found.append([less, total - less] if auto == "SAME_UPPER" else [total - less, less])
    return found


def _pooled(n: Node, name: str, x: Any, **more: Any) -> Any:
    spatial = rank(x) - 2
    sizes, strides = list(n.get("kernel_shape")), _each(n, "strides", spatial)
    dilations = _each(n, "dilations", spatial)
    pads = _pads(n, list(x.shape[2:]), sizes, strides, dilations)
    if name == "max-pool":
        more["dilation"] = dilations
    last = channels_last(x)
    return channels_first(call(name, last, sizes, stride=strides, padding=pads, **more))


def _max_pool(n: Node) -> Any:
    if n.outputs > 1:
        raise Unmapped("the places of the greatest are no result of max-pool")
    if n[0].dtype[0] in "iu":
        return cast(_pooled(n, "max-pool", cast(n[0], "f32")), n[0].dtype)
    return _pooled(n, "max-pool", n[0])


def _avg_pool(n: Node) -> Any:
    padded = bool(n.get("count_include_pad", 0))
    if max(n.get("dilations") or [1]) > 1 or (padded and n.get("ceil_mode", 0)):
        return _mean_window(n, padded)
    return _pooled(n, "avg-pool", n[0], count_padding=padded)


def _mean_window(n: Node, padded: bool) -> Any:
    """Sums by a convolution with ones, over how many elements each window has."""
    x = n[0]
    kernel = list(n.get("kernel_shape"))
    ones = call("ones", [x.shape[1], 1, *kernel])
    given = list(n.get("pads") or [0] * 2 * len(kernel))
    counted = call("ones", [1, 1, *x.shape[2:]])
    spatial = len(kernel)
    strides, dilations = _each(n, "strides", spatial), _each(n, "dilations", spatial)
    pads = _pads(n, list(x.shape[2:]), kernel, strides, dilations)
    last = pads
    if padded:
        widths = [[given[i], given[i + spatial]] for i in range(spatial)]
        counted = call("pad", counted, [[0, 0], [0, 0], *widths], value=1)
        last = [[low - a, high - b] for (low, high), (a, b) in zip(pads, widths)]
    at = {"stride": strides, "dilation": dilations}
    total = call("conv", channels_last(x), _kernel(ones), padding=pads, groups=x.shape[1], **at)
    one = _kernel(call("ones", [1, 1, *kernel]))
    count = call("conv", channels_last(counted), one, padding=last, **at)
    return channels_first(call("/", total, count))


def _lp_pool(n: Node) -> Any:
    p, kernel = n.get("p", 2), list(n.get("kernel_shape"))
    if max(n.get("dilations") or [1]) > 1:
        x = n[0]
        ones = call("ones", [x.shape[1], 1, *kernel])
        strides, dilations = _each(n, "strides", rank(x) - 2), list(n.get("dilations"))
        pads = _pads(n, list(x.shape[2:]), kernel, strides, dilations)
        powers = call("expt", call("abs", x), p)
        total = call(
            "conv", channels_last(powers), _kernel(ones), stride=strides, padding=pads,
            dilation=dilations, groups=x.shape[1],
        )  # fmt: skip
        return channels_first(call("expt", total, 1 / p))
    mean = _pooled(n, "avg-pool", call("expt", call("abs", n[0]), p), count_padding=True)
    return call("expt", call("*", mean, int(np.prod(kernel))), 1 / p)


def _global(name: str, n: Node) -> Any:
    return call(name, n[0], axis=list(range(2, rank(n[0]))), keep=True)


NEAREST = ("asymmetric", "floor")


def _resize(n: Node) -> Any:
    """What `interpolate` says: windows from the ratio of sizes, over the spatial axes."""
    x = n[0]
    scales, sizes = n.known(2), n.numbers(3)
    if n.operation == "Upsample":
        scales, sizes = n.known(1), None
    axes = [a % rank(x) for a in n.get("axes") or range(rank(x))]
    wanted = list(x.shape)
    if scales is not None and scales.size:
        for axis, scale in zip(axes, scales.tolist()):
            wanted[axis] = int(np.floor(x.shape[axis] * scale))
            if abs(wanted[axis] - x.shape[axis] * scale) > 1e-4:
                raise Unmapped("a scale that is not the ratio of two sizes")
    else:
        for axis, size in zip(axes, sizes or []):
            wanted[axis] = size
    _kept(n, x, wanted)
    if wanted[:2] != list(x.shape[:2]):
        raise Unmapped("batch and channels change")
    at = _interpolation(n)
    return channels_first(call("interpolate", channels_last(x), wanted[2:], **at))


def _kept(n: Node, x: Any, wanted: list[int]) -> None:
    policy = n.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise Unmapped("keep_aspect_ratio_policy")
    if n.get("exclude_outside", 0):
        raise Unmapped("exclude_outside")


def _interpolation(n: Node) -> dict[str, Any]:
    mode = n.get("mode", "nearest")
    where = n.get("coordinate_transformation_mode", "half_pixel")
    if n.operation == "Upsample":
        where, mode = "asymmetric", mode
    rounding = n.get("nearest_mode", "round_prefer_floor")
    if mode == "nearest":
        if n.operation != "Upsample" and (where, rounding) != NEAREST:
            raise Unmapped(f"nearest by {where} and {rounding}: ours is asymmetric and floor")
        return {"mode": "nearest"}
    if where not in ("half_pixel", "align_corners"):
        raise Unmapped(f"coordinates by {where}")
    if n.get("antialias", 0):
        raise Unmapped("antialiased windows that repeat the edge: ours end there, as PyTorch's")
    if n.get("cubic_coeff_a", -0.75) != -0.75:
        raise Unmapped("cubic with another coefficient than -0.75")
    return {
        "mode": mode,
        "align_corners": where == "align_corners",
    }


def _grid_sample(n: Node) -> Any:
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(n.get("mode", "linear"))
    mode = mode or n.get("mode", "linear")
    y = call(
        "grid-sample", channels_last(n[0]), n[1], mode=mode,
        padding=n.get("padding_mode", "zeros"), align_corners=bool(n.get("align_corners", 0)),
    )  # fmt: skip
    return channels_first(y)


def _affine_grid(n: Node) -> Any:
    """theta times the grid's own coordinates."""
    theta, size = n[0], n.numbers(1) or []
    lines = []
    for count in reversed(size[2:]):
        if n.get("align_corners", 0):
            lines.append(np.linspace(-1, 1, count))
        else:
            lines.append((np.arange(count) * 2 + 1) / count - 1)
    mesh = np.meshgrid(*reversed(lines), indexing="ij")
    points = np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1).reshape(-1, len(lines) + 1)
    flat = call("matmul", constant(points.astype(np.float32)), theta, transpose_y=True)
    return call("reshape", flat, [size[0], *size[2:], len(lines)])


def _lrn(n: Node) -> Any:
    """Sums over neighbouring channels: an average pool along them."""
    x, size = n[0], n.get("size")
    squares = channels_last(call("square", x))
    shape = list(squares.shape)
    flat = call("reshape", squares, [-1, shape[-1], 1])
    pads = [[(size - 1) // 2, size // 2]]
    mean = call("avg-pool", flat, [size], stride=1, padding=pads, count_padding=True)
    mean = channels_first(call("reshape", mean, shape))
    alpha, beta, bias = n.get("alpha", 1e-4), n.get("beta", 0.75), n.get("bias", 1.0)
    return call("/", x, call("expt", call("+", call("*", mean, alpha), bias), beta))


ROWS: dict[str, Callable[[Node], Any]] = {
    "Conv": _conv,
    "ConvInteger": _conv_integer,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _max_pool,
    "AveragePool": _avg_pool,
    "LpPool": _lp_pool,
    "GlobalAveragePool": partial(_global, "mean"),
    "GlobalMaxPool": partial(_global, "reduce-max"),
    "Resize": _resize,
    "Upsample": _resize,
    "GridSample": _grid_sample,
    "AffineGrid": _affine_grid,
    "LRN": _lrn,
}
