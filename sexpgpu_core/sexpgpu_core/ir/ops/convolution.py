"""Convolution over 1 to 3 spatial axes, NHWC x HWIO, and its gradients, closed under each other.

Attributes strides, dilations (a number an axis), padding (a pair an axis), groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...diagnostics import problem
from ..graph import Node, Value
from ..operation import Attributes, Cost, Fusion, Precision
from ..types import Type
from .op import Cotangents, Expand, Gradient, Infer, Op, Types
from .shapes import Shape, check_count, same_dtype, size, text, want_float, wanted

if TYPE_CHECKING:
    from ..builder import Builder

SHARED = ("strides", "dilations", "padding", "groups")


def window_count(n: int, k: int, stride: int, dilation: int, pads: tuple[int, int]) -> int:
    """Windows of k elements that fit on a padded axis of n."""
    return (n + pads[0] + pads[1] - dilation * (k - 1) - 1) // stride + 1


def same_padding(sizes: Shape, kernel: Shape, strides: Shape, dilations: Shape) -> Any:
    """Pairs that give ceil(n / stride) windows; the odd one goes after."""
    pairs = []
    for n, k, s, d in zip(sizes, kernel, strides, dilations):
        total = max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
        pairs.append((total // 2, total - total // 2))
    return tuple(pairs)


def _misfit(op: Op, x: Shape, w: Shape, why: str) -> Exception:
    return problem(
        "E-SHAPE-CONV",
        f"{op.name} of {text(x)} and {text(w)}: {why}",
        hint="x is (b n... channels), w is (k... channels-in channels-out)",
        operation=op.name,
    )


def _channels(given: int, taken: int, made: int, groups: int) -> str:
    if groups < 1 or made % groups:
        return f"{groups} groups do not divide {made} channels out"
    of = f" in each of {groups} groups" if groups > 1 else ""
    return f"x has {given} channel{'s' * (given != 1)}, w takes {taken}{of}"


def output_shape(op: Op, x: Shape, w: Shape, attributes: Attributes) -> Shape:
    """(b . out o) of x (b . n i) and w (. k i/groups o); E-SHAPE-CONV."""
    spatial, groups = len(w) - 2, attributes["groups"]
    if not 1 <= spatial <= 3 or len(x) != len(w):
        raise _misfit(op, x, w, "x is (b n... i), w is (k... i/groups o), 1 to 3 spatial axes")
    if groups < 1 or x[-1] != w[-2] * groups or w[-1] % groups:
        raise _misfit(op, x, w, _channels(x[-1], w[-2], w[-1], groups))
    places = [attributes[k] for k in ("strides", "dilations", "padding")]
    if any(len(p) != spatial for p in places):
        raise _misfit(op, x, w, f"strides, dilations and padding for {spatial} axes")
    out = tuple(map(window_count, x[1:-1], w[:-2], *places))
    if min(out) < 1:
        raise _misfit(op, x, w, f"a window of {text(w[:-2])} does not fit into {text(x[1:-1])}")
    return (x[0], *out, w[-1])


def _conv(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, w = operands
    dtype = same_dtype(op, operands)
    want_float(op, dtype)
    return (Type(dtype, output_shape(op, x.shape, w.shape, attributes)),)


def _input_gradient(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    g, w = operands
    dtype, shape = same_dtype(op, operands), attributes["input-shape"]
    want_float(op, dtype)
    if output_shape(op, shape, w.shape, attributes) != g.shape:
        raise _misfit(op, g.shape, w.shape, f"not what conv of {text(shape)} gives")
    return (Type(dtype, shape),)


def _weight_gradient(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, g = operands
    dtype, shape = same_dtype(op, operands), attributes["kernel-shape"]
    want_float(op, dtype)
    if output_shape(op, x.shape, shape, attributes) != g.shape:
        raise _misfit(op, x.shape, g.shape, f"not what conv with {text(shape)} gives")
    return (Type(dtype, shape),)


def _transposed_shape(x: Shape, w: Shape, attributes: Attributes) -> Shape:
    extra = attributes.get("output-padding") or (0,) * (len(w) - 2)
    sizes = zip(
        x[1:-1],
        w[:-2],
        attributes["strides"],
        attributes["dilations"],
        attributes["padding"],
        extra,
    )
    out = tuple((n - 1) * s + d * (k - 1) + 1 - p[0] - p[1] + e for n, k, s, d, p, e in sizes)
    return (x[0], *out, w[-1] * attributes["groups"])


def _conv_transpose(op: Op, operands: Types, attributes: Attributes) -> Types:
    check_count(op, operands, 2)
    x, w = operands
    dtype = same_dtype(op, operands)
    want_float(op, dtype)
    if x.rank != w.rank or not 3 <= x.rank <= 5 or x.shape[-1] != w.shape[-2]:
        raise _misfit(op, x.shape, w.shape, "x is (b n... i), w is (k... i o/groups)")
    shape = _transposed_shape(x.shape, w.shape, attributes)
    if min(shape[1:-1]) < 1:
        raise _misfit(op, x.shape, w.shape, f"nothing is left: {text(shape)}")
    return (Type(dtype, shape),)


def _at(node: Node) -> dict[str, Any]:
    return {name: node.get(name) for name in SHARED}


def _by_input(b: Builder, node: Node, g: Value, w: Value, shape: Shape) -> Value:
    return b("conv-input-gradient", g, w, **_at(node), **{"input-shape": shape})


def _by_weight(b: Builder, node: Node, x: Value, g: Value, shape: Shape) -> Value:
    return b("conv-weight-gradient", x, g, **_at(node), **{"kernel-shape": shape})


def _conv_back(b: Builder, node: Node, g: Value) -> Cotangents:
    x, w = node.operands
    return (
        _by_input(b, node, g, w, x.shape) if wanted(b, x) else None,
        _by_weight(b, node, x, g, w.shape) if wanted(b, w) else None,
    )


def _input_gradient_back(b: Builder, node: Node, out: Value) -> Cotangents:
    g, w = node.operands
    return (
        b("conv", out, w, **_at(node)) if wanted(b, g) else None,
        _by_weight(b, node, out, g, w.shape) if wanted(b, w) else None,
    )


def _weight_gradient_back(b: Builder, node: Node, out: Value) -> Cotangents:
    x, g = node.operands
    return (
        _by_input(b, node, g, out, x.shape) if wanted(b, x) else None,
        b("conv", x, out, **_at(node)) if wanted(b, g) else None,
    )


def _expand_transpose(b: Builder, node: Node) -> tuple[Value, ...]:
    x, w = node.operands
    rank = len(w.shape)
    turned = b("permute", w, axes=(*range(rank - 2), rank - 1, rank - 2))
    return (_by_input(b, node, x, turned, node.types[0].shape),)


def _cost(operands: Types, results: Types, attributes: Attributes) -> Cost:
    shapes = [t.shape for t in (*operands, *results)]
    _, w, out = _roles(shapes, attributes)
    flops = 2 * size(out) * size(w[:-1])
    return Cost(flops, sum(t.bytes for t in operands), results[0].bytes)


def _roles(shapes: list[Shape], attributes: Attributes) -> tuple[Shape, Shape, Shape]:
    """Input, kernel and output of the convolution, whichever of them is computed."""
    a, c, result = shapes
    if "input-shape" in attributes:
        return result, c, a
    if "kernel-shape" in attributes:
        return a, result, c
    return a, c, result


def _axes(
    operands: Types, results: Types, attributes: Attributes
) -> tuple[tuple[int, int, int, str], ...]:
    return () if "kernel-shape" in attributes else ((0, 0, 0, "same"),)


def _row(
    name: str, infer: Infer, doc: str, gradient: Gradient | None, expand: Expand | None = None
) -> Op:
    return Op(
        name,
        "" if expand else "convolution",
        Fusion.LIBRARY,
        Precision.LOW,
        infer,
        doc + " Gradient: yes.",
        gradient,
        expand=expand,
        cost=_cost,
        depends=_axes,
    )


_SAME = "Attributes strides, dilations, padding (pairs), groups"

ROWS = [
    _row(
        "conv",
        _conv,
        f"x (b n... i) with w (k... i/groups o) to (b m... o), not turned round. {_SAME}.",
        _conv_back,
    ),
    _row(
        "conv-input-gradient",
        _input_gradient,
        f"Operands g (b m... o), w: the cotangent of conv's x. {_SAME}, input-shape.",
        _input_gradient_back,
    ),
    _row(
        "conv-weight-gradient",
        _weight_gradient,
        f"Operands x, g: the cotangent of conv's w. {_SAME}, kernel-shape.",
        _weight_gradient_back,
    ),
    _row(
        "conv-transpose",
        _conv_transpose,
        "x (b n... i) with w (k... i o/groups): the gradient of conv as an operation. "
        f"{_SAME}, output-padding.",
        None,
        _expand_transpose,
    ),
]
