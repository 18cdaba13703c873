"""Shapes, slices, indices and constants of ONNX in our builtins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_calls import call, constant, dtype_of
from onnx_node import Node, Unmapped, Wire, axis_of, cast, onnx_dtype, rank

SMALL = 1 << 31


def _reshape(n: Node) -> Any:
    sizes = n.numbers(1) or []
    if not n.get("allowzero", 0):
        sizes = [n.shape()[i] if size == 0 else size for i, size in enumerate(sizes)]
    return call("reshape", n[0], sizes)


def _transpose(n: Node) -> Any:
    return call("permute", n[0], list(n.get("perm", range(rank(n[0]))[::-1])))


def _axes(n: Node) -> list[int] | None:
    found = n.get("axes")
    return n.numbers(1) if found is None else list(found)


def _squeeze(n: Node) -> Any:
    return call("squeeze", n[0], axis=_axes(n))


def _unsqueeze(n: Node) -> Any:
    axes = _axes(n) or []
    total = rank(n[0]) + len(axes)
    return call("unsqueeze", n[0], sorted(a % total for a in axes))


def _flatten(n: Node) -> Any:
    axis = n.get("axis", 1)
    shape = n.shape()
    axis = axis + rank(n[0]) if axis < 0 else axis
    return call("reshape", n[0], [int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))])


def _concat(n: Node) -> Any:
    return call("concat", *n.all(), axis=axis_of(n.get("axis"), n[0]))


def _split(n: Node) -> Any:
    axis = axis_of(n.get("axis", 0), n[0])
    size = n.shape()[axis]
    parts = n.get("split") or n.numbers(1)
    if parts is None:
        count = n.get("num_outputs", n.outputs)
        each = -(-size // count)
        parts = [min(each, size - i * each) for i in range(count)]
    found = call("split", n[0], list(parts), axis=axis)
    return found if isinstance(found, list) else [found]


def _slice(n: Node) -> Any:
    x = n[0]
    starts = n.get("starts") or n.numbers(1) or []
    stops = n.get("ends") or n.numbers(2) or []
    axes = n.get("axes") or n.numbers(3) or list(range(len(starts)))
    steps = n.numbers(4) or [1] * len(starts)
    for axis, start, stop, step in zip(axes, starts, stops, steps):
        size = x.shape[axis]
        first, last, step = slice(start, _near(stop), step).indices(size)
        if step < 0:  # from the other end
            x = call("flip", x, axis=axis % rank(x))
            first, last, step = size - 1 - first, size - 1 - last, -step
        x = call("slice", x, axis=axis % rank(x), start=first, end=max(last, first), step=step)
    return x


def _near(stop: int) -> int:
    return max(min(stop, SMALL), -SMALL)


def _expand(n: Node) -> Any:
    sizes = np.broadcast_shapes(n.shape(), tuple(n.numbers(1) or ()))
    return call("broadcast-to", n[0], list(sizes))


def _pad(n: Node) -> Any:
    x, mode = n[0], n.get("mode", "constant")
    widths = n.get("pads") or n.numbers(1) or []
    axes = [a % rank(x) for a in n.numbers(3) or range(rank(x))]
    half = len(widths) // 2
    pairs = [[0, 0] for _ in range(rank(x))]
    for axis, before, after in zip(axes, widths[:half], widths[half:]):
        pairs[axis] = [before, after]
    if mode == "wrap":
        for axis, (before, after) in enumerate(pairs):
            size = x.shape[axis]
            where = np.arange(-before, size + after, dtype=np.int32) % max(size, 1)
            x = call("gather", x, constant(where), axis=axis)
        return x
    value = n.known(2, np.zeros((), np.float32)).item() if n.opset >= 11 else n.get("value", 0.0)
    return call("pad", x, pairs, mode=mode, value=value)


def _trilu(n: Node) -> Any:
    offset = int(n.known(1, np.array(0)))
    return call("triu" if n.get("upper", 1) else "tril", n[0], offset=offset)


def _eye_like(n: Node) -> Any:
    dtype = onnx_dtype(n.get("dtype")) if n.get("dtype") else n[0].dtype
    rows, columns = n.shape()
    offset = n.get("k", 0)
    eye = call("eye", rows, columns=columns + abs(offset), dtype=dtype)
    if offset >= 0:
        eye = call("eye", rows + offset, columns=columns, dtype=dtype)
        return (
            call("slice", eye, axis=0, start=0, end=rows)
            if not offset
            else _shifted(rows, columns, offset, dtype)
        )
    return _shifted(rows, columns, offset, dtype)


def _shifted(rows: int, columns: int, offset: int, dtype: str) -> Any:
    i = call("unsqueeze", call("iota", rows), 1)
    j = call("unsqueeze", call("iota", columns), 0)
    return cast(call("=", call("+", i, offset), j), dtype)


def _shape(n: Node) -> Any:
    shape = n.shape()
    start, end, _ = slice(n.get("start", 0), n.get("end")).indices(len(shape))
    return Wire(array=np.array(shape[start:end], np.int64), folded=True)


def _size(n: Node) -> Any:
    return Wire(array=np.array(int(np.prod(n.shape())), np.int64), folded=True)


def _constant(n: Node) -> Any:
    from onnx.numpy_helper import to_array

    for name, value in n.attributes.items():
        if name == "value":
            return Wire(array=to_array(value), folded=True)
        if name.startswith("value_") and "string" not in name:
            kind = np.float32 if "float" in name else np.int64
            return Wire(array=np.array(value, kind), folded=True)
    raise Unmapped("a constant of strings or sparse")


def _constant_of_shape(n: Node) -> Any:
    from onnx.numpy_helper import to_array

    value = to_array(n.get("value")) if n.get("value") is not None else np.zeros(1, np.float32)
    return call("full", n.numbers(0), value.item(), dtype=dtype_of(value.dtype))


def _range(n: Node) -> Any:
    start, stop, step = (n.known(i).item() for i in range(3))
    count = max(int(np.ceil((stop - start) / step)), 0)
    return call("iota", count, start=start, step=step, dtype=dtype_of(n.known(0).dtype))


def _tile(n: Node) -> Any:
    return call("tile", n[0], n.numbers(1))


def counted(index: Any, size: int) -> Any:
    """Negative indices counted from the end: with us they are out of range."""
    return call("where", call("<", index, 0), call("+", index, size), index)


def _gather(n: Node) -> Any:
    axis = axis_of(n.get("axis", 0), n[0])
    return call("gather", n[0], counted(n[1], n.shape()[axis]), axis=axis)


def _gather_elements(n: Node) -> Any:
    x, axis = n[0], axis_of(n.get("axis", 0), n[0])
    index = counted(n[1], x.shape[axis])
    return call("take-along", _cut(x, index.shape, axis), index, axis=axis)


def _cut(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    """x no longer than the index on the other axes, as their rule allows."""
    for a, size in enumerate(shape):
        if a != axis and x.shape[a] != size:
            x = call("slice", x, axis=a, start=0, end=size)
    return x


def _nested(x: Any, index: Any) -> Any:
    """Indices of gather-nd, negative ones counted from the end."""
    sizes = constant(np.array(x.shape[: index.shape[-1]], np.int64))
    index = cast(index, "i64")
    return call("where", call("<", index, 0), call("+", index, sizes), index)


def _gather_nd(n: Node) -> Any:
    x, index, lead = n[0], n[1], n.get("batch_dims", 0)
    if lead == 0:
        return call("gather-nd", x, _nested(x, index))
    places = []
    for axis in range(lead):  # the batch's own coordinates
        shape = [1] * rank(index)
        shape[axis] = index.shape[axis]
        at = call("reshape", call("iota", index.shape[axis], dtype="i64"), shape)
        places.append(call("broadcast-to", at, [*index.shape[:-1], 1]))
    return call("gather-nd", x, _nested(x, call("concat", *places, cast(index, "i64"), axis=-1)))


SCATTER = {"none": "scatter-set", "add": "scatter-add", "max": "scatter-max", "min": "scatter-min"}


def _flat_index(shape: tuple[int, ...], places: list[Any]) -> Any:
    """Row-major positions of coordinates, one tensor an axis."""
    found: Any = None
    for size, place in zip(shape, places):
        at = cast(place, "i64")
        found = at if found is None else call("+", call("*", found, size), at)
    return found


def _scatter_name(n: Node) -> str:
    reduction = n.get("reduction", "none")
    if reduction not in SCATTER:
        raise Unmapped(f"scatter by {reduction}")
    return SCATTER[reduction]


def _scatter_elements(n: Node) -> Any:
    """Along an axis, as a scatter into the flat tensor."""
    x, y, axis = n[0], n[2], axis_of(n.get("axis", 0), n[0])
    index = counted(n[1], x.shape[axis])
    places = []
    for a in range(rank(x)):
        shape = [1] * rank(x)
        shape[a] = index.shape[a]
        own = call("reshape", call("iota", index.shape[a], dtype="i64"), shape)
        places.append(index if a == axis else call("broadcast-to", own, list(index.shape)))
    flat = call("reshape", _flat_index(x.shape, places), [-1])
    found = call(_scatter_name(n), call("reshape", x, [-1]), flat, call("reshape", y, [-1]))
    return call("reshape", found, list(x.shape))


def _scatter_nd(n: Node) -> Any:
    x, index, y = n[0], _nested(n[0], n[1]), n[2]
    depth = index.shape[-1]
    places = [call("tref", index, *[True] * (rank(index) - 1), d) for d in range(depth)]
    rows = call("reshape", _flat_index(x.shape[:depth], places), [-1])
    rest = list(x.shape[depth:])
    parts = call("reshape", y, [rows.shape[0], *rest])
    whole = call("reshape", x, [int(np.prod(x.shape[:depth])), *rest])
    return call("reshape", call(_scatter_name(n), whole, rows, parts), list(x.shape))


def _one_hot(n: Node) -> Any:
    depth = int(n.known(1).ravel()[0])
    index = n[0]
    index = cast(index, "i64") if index.dtype in ("f32", "f64") else index
    axis = n.get("axis", -1)
    values = n[2]
    hit = call("one-hot", counted(index, depth), depth, axis=axis % (rank(index) + 1))
    off, on = call("tref", values, 0), call("tref", values, 1)
    return call("where", hit, on, off)


def _top_k(n: Node) -> Any:
    count = int(n.known(1).ravel()[0])
    axis = axis_of(n.get("axis", -1), n[0])
    values, index = call("top-k", n[0], count, axis=axis, smallest=not n.get("largest", 1))
    return [values, cast(index, "i64")]


def _compress(n: Node) -> Any:
    chosen = np.flatnonzero(n.known(1)).astype(np.int32)
    x, axis = n[0], n.get("axis")
    if axis is None:
        x, axis = call("reshape", x, [-1]), 0
    return call("gather", x, constant(chosen), axis=axis_of(axis, x))


def _reverse_sequence(n: Node) -> Any:
    x, lengths = n[0], n.known(1)
    time, batch = n.get("time_axis", 0), n.get("batch_axis", 1)
    steps = np.arange(x.shape[time])
    order = np.stack([np.where(steps < k, k - 1 - steps, steps) for k in lengths])
    order = order if batch < time else order.T
    shape = [1] * rank(x)
    shape[time], shape[batch] = x.shape[time], x.shape[batch]
    index = call("reshape", constant(order.astype(np.int32)), shape)
    return call("take-along", x, call("broadcast-to", index, list(x.shape)), axis=time)


def _to_space(n: Node) -> Any:
    x = n[0]
    b, c, h, w = x.shape
    k = n.get("blocksize")
    last = call("permute", x, [0, 2, 3, 1])
    if n.get("mode", "DCR") == "DCR":  # (k k c) to (c k k)
        last = call("reshape", last, [b, h, w, k * k, c // (k * k)])
        last = call("reshape", call("transpose", last), [b, h, w, c])
    return call("permute", call("pixel-shuffle", last, k), [0, 3, 1, 2])


def _to_depth(n: Node) -> Any:
    x = n[0]
    b, c, h, w = x.shape
    k = n.get("blocksize")
    last = call("pixel-unshuffle", call("permute", x, [0, 2, 3, 1]), k)
    if n.get("mode", "DCR") == "DCR":
        last = call("reshape", last, [b, h // k, w // k, c, k * k])
        last = call("reshape", call("transpose", last), [b, h // k, w // k, c * k * k])
    return call("permute", last, [0, 3, 1, 2])


def _center_crop_pad(n: Node) -> Any:
    x, sizes = n[0], n.numbers(1) or []
    axes = [a % rank(x) for a in n.get("axes") or range(rank(x))]
    for axis, size in zip(axes, sizes):
        have = x.shape[axis]
        if size < have:
            start = (have - size) // 2
            x = call("slice", x, axis=axis, start=start, end=start + size)
        elif size > have:
            pairs = [[0, 0] for _ in range(rank(x))]
            pairs[axis] = [(size - have) // 2, size - have - (size - have) // 2]
            x = call("pad", x, pairs)
    return x


def _array_feature(n: Node) -> Any:
    return call("gather", n[0], call("reshape", n[1], [-1]), axis=rank(n[0]) - 1)


ROWS: dict[str, Callable[[Node], Any]] = {
    "Identity": lambda n: n[0],
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Flatten": _flatten,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": _pad,
    "Trilu": _trilu,
    "EyeLike": _eye_like,
    "Shape": _shape,
    "Size": _size,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "ScatterElements": _scatter_elements,
    "Scatter": _scatter_elements,
    "ScatterND": _scatter_nd,
    "OneHot": _one_hot,
    "TopK": _top_k,
    "Compress": _compress,
    "ReverseSequence": _reverse_sequence,
    "DepthToSpace": _to_space,
    "SpaceToDepth": _to_depth,
    "CenterCropPad": _center_crop_pad,
    "ArrayFeatureExtractor": _array_feature,
}
