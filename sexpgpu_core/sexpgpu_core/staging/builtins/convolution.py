"""Convolution and pooling over 1 to 3 spatial axes, channels last."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.builtins.listing import proper
from ...evaluator.values import NIL, Cons, Symbol, Value
from ...ir.graph import Value as Node
from ...ir.ops.convolution import same_padding
from ..arguments import flag, integers
from ..faults import describe
from ..host import tracer
from ..promote import integer, node_of, operands
from ..table import tensor_builtin
from ..tensor import Tensor

Shape = tuple[int, ...]


def each(name: str, what: str, value: Value, spatial: int) -> Shape:
    """A number for each spatial axis; one number is all of them."""
    found = integers(name, what, value)
    if len(found) == 1:
        return found * spatial
    if len(found) != spatial:
        raise problem("E-SHAPE-CONV", f"{name}: {len(found)} numbers of {what} for {spatial} axes")
    return found


def _padding(
    name: str, value: Value, sizes: Shape, kernel: Shape, strides: Shape, dilations: Shape
) -> Any:
    """Pairs an axis, of :same, :valid, a number or ((before after)...)."""
    if value.__class__ is Symbol and value.keyword:
        kind = value.name.lower()
        if kind == "same":
            return same_padding(sizes, kernel, strides, dilations)
        if kind == "valid":
            return ((0, 0),) * len(kernel)
        raise problem(
            "E-TYPE",
            f"padding of {name} is {describe(value)}",
            wanted=":same :valid n ((before after)...)",
        )
    if value.__class__ is int:
        return ((value, value),) * len(kernel)
    if value.__class__ is Cons and value.car.__class__ is int:
        return tuple((n, n) for n in each(name, "padding", value, len(kernel)))
    return tuple(tuple(integers(name, "padding", p)) for p in proper(name, value))


def _spatial(name: str, x: Node, w: Node, given: Value) -> int:
    spatial = len(w.shape) - 2
    if not 1 <= spatial <= 3 or len(x.shape) != len(w.shape):
        raise problem(
            "E-SHAPE-CONV",
            f"{name} of {x.type} and {w.type}",
            hint="x is (b n... channels), w is (k... channels-in channels-out)",
        )
    return spatial


@tensor_builtin("conv", "(x w &key (stride 1) (padding :valid) (dilation 1) (groups 1))")
def conv(
    x: Value,
    w: Value,
    *,
    stride: Value = 1,
    padding: Value = None,
    dilation: Value = 1,
    groups: Value = 1,
) -> Tensor:
    """x (b n... i) with w (k... i/groups o) to (b m... o). F. (conv x w :padding :same)"""
    t, (node, kernel) = operands("conv", (x, w))
    spatial = _spatial("conv", node, kernel, x)
    strides = each("conv", "stride", stride, spatial)
    dilations = each("conv", "dilation", dilation, spatial)
    pads = ((0, 0),) * spatial
    if padding is not None:
        pads = _padding("conv", padding, node.shape[1:-1], kernel.shape[:-2], strides, dilations)
    return t.tensor(
        t.builder(
            "conv",
            node,
            kernel,
            strides=strides,
            dilations=dilations,
            padding=pads,
            groups=integer("conv", "groups", groups),
        )
    )


@tensor_builtin(
    "conv-transpose",
    "(x w &key (stride 1) (padding :valid) (output-padding 0) (dilation 1) (groups 1))",
)
def conv_transpose(
    x: Value,
    w: Value,
    *,
    stride: Value = 1,
    padding: Value = None,
    output_padding: Value = 0,
    dilation: Value = 1,
    groups: Value = 1,
) -> Tensor:
    """The gradient of `conv` as an operation; w (k... i o/groups). F.

    (conv-transpose x w :stride 2)"""
    t, (node, kernel) = operands("conv-transpose", (x, w))
    spatial = _spatial("conv-transpose", node, kernel, x)
    strides = each("conv-transpose", "stride", stride, spatial)
    dilations = each("conv-transpose", "dilation", dilation, spatial)
    pads = ((0, 0),) * spatial
    if padding is not None:
        grown = tuple(n * s for n, s in zip(node.shape[1:-1], strides))
        pads = _padding("conv-transpose", padding, grown, kernel.shape[:-2], strides, dilations)
    extra = each("conv-transpose", "output-padding", output_padding, spatial)
    return t.tensor(
        t.builder(
            "conv-transpose",
            node,
            kernel,
            strides=strides,
            dilations=dilations,
            padding=pads,
            groups=integer("conv-transpose", "groups", groups),
            **{"output-padding": extra},
        )
    )


def _pool(
    name: str, x: Value, size: Value, stride: Value, padding: Value, dilation: Value, **more: Any
) -> Tensor:
    t = tracer(name)
    node = node_of(name, x, t)
    spatial = len(node.shape) - 2
    if spatial < 1:
        raise problem(
            "E-SHAPE-CONV",
            f"{name} of {describe(x)}: x is (b n... channels)",
            hint="axes of examples, of 1 to 3 places, of channels: (reshape x (list b n n c))",
        )
    sizes = each(name, "size", size, spatial)
    strides = sizes if stride is None else each(name, "stride", stride, spatial)
    dilations = each(name, "dilation", dilation, spatial)
    pads = ((0, 0),) * spatial
    if padding is not None:
        pads = _padding(name, padding, node.shape[1:-1], sizes, strides, dilations)
    if name == "max-pool":
        more["dilations"] = dilations
    return t.tensor(t.builder(name, node, sizes=sizes, strides=strides, padding=pads, **more))


@tensor_builtin("max-pool", "(x size &key (stride size) (padding :valid) (dilation 1))")
def max_pool(
    x: Value, size: Value, *, stride: Value = None, padding: Value = None, dilation: Value = 1
) -> Tensor:
    """The greatest of each window; gradient to the first. N, x (b n... c). (max-pool x 2)"""
    return _pool("max-pool", x, size, stride, padding, dilation)


@tensor_builtin("avg-pool", "(x size &key (stride size) (padding :valid) (count-padding nil))")
def avg_pool(
    x: Value,
    size: Value,
    *,
    stride: Value = None,
    padding: Value = None,
    count_padding: Value = NIL,
) -> Tensor:
    """The mean of each window. F, x (b n... c). (avg-pool x 2)"""
    more = {"count-padding": True} if flag(count_padding) else {}
    return _pool("avg-pool", x, size, stride, padding, 1, **more)
