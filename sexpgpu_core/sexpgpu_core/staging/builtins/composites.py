"""Softmax, norms, attention, losses: one node each, which devices lower as a whole or expand."""

from __future__ import annotations

from typing import Any

from ...diagnostics import problem
from ...evaluator.values import NIL, Value, keyword
from ...ir.graph import Value as Node
from ...ir.types import FLOATS
from ..arguments import axes as axes_of
from ..arguments import axis as axis_of
from ..arguments import choice, flag
from ..host import tracer
from ..promote import check_outer, integer, node_of, operands, optional_node, real
from ..table import tensor_builtin
from ..tensor import Tensor
from ..tracer import Tracer
from .shape import reshaped

ERROR = keyword("ERROR")


@tensor_builtin("softmax", "(x &key (axis -1) mask (scale 1))")
def softmax(x: Value, *, axis: Value = -1, mask: Value = NIL, scale: Value = 1) -> Tensor:
    """exp(scale x) over its sum along an axis; mask bool, true takes part, a row without any is 0.
    F.

    (softmax scores :mask (causal-mask n))"""
    return _softmax("softmax", x, axis, mask, scale)


@tensor_builtin("log-softmax", "(x &key (axis -1) mask (scale 1))")
def log_softmax(x: Value, *, axis: Value = -1, mask: Value = NIL, scale: Value = 1) -> Tensor:
    """The logarithm of softmax, without overflow. F. (log-softmax logits)"""
    if mask is NIL:
        return _softmax("log-softmax", x, axis, mask, scale)
    t = tracer("log-softmax")
    share = t.node(_softmax("softmax", x, axis, mask, scale))
    return t.tensor(t.builder("log", share))


def _softmax(name: str, x: Value, axis: Value, mask: Value, scale: Value) -> Tensor:
    t = tracer(name)
    node = node_of(name, x, t)
    given = optional_node(name, mask, t)
    more = {} if scale == 1 else {"scale": real(name, "scale", scale)}
    extra = () if given is None else (given,)
    return t.tensor(
        t.builder(name, node, *extra, axis=axis_of(name, axis, len(node.shape)), **more)
    )


def _norm(name: str, x: Value, parts: tuple[Value, ...], axis: Value, eps: Value) -> Tensor:
    given = [p for p in parts if p is not NIL]
    t, (node, *weights) = operands(name, (x, *given))
    if len(parts) == 2 and parts[0] is NIL and parts[1] is not NIL:
        weights.insert(0, t.builder.constant(1.0, node.dtype, weights[0].shape))
    axes = axes_of(name, axis, len(node.shape))
    return t.tensor(t.builder(name, node, *weights, axes=axes, eps=real(name, "eps", eps)))


@tensor_builtin("rms-norm", "(x &key weight (axis -1) (eps 1e-6))")
def rms_norm(x: Value, *, weight: Value = NIL, axis: Value = -1, eps: Value = 1e-6) -> Tensor:
    """x / sqrt(mean of squares + eps), times weight. F, shape of x. (rms-norm x :weight w)"""
    return _norm("rms-norm", x, (weight,), axis, eps)


@tensor_builtin("layer-norm", "(x &key weight bias (axis -1) (eps 1e-5))")
def layer_norm(
    x: Value, *, weight: Value = NIL, bias: Value = NIL, axis: Value = -1, eps: Value = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + eps), times weight, plus bias. F.

    (layer-norm x :weight w :bias b)"""
    return _norm("layer-norm", x, (weight, bias), axis, eps)


@tensor_builtin("group-norm", "(x groups &key weight bias (eps 1e-5))")
def group_norm(
    x: Value, groups: Value, *, weight: Value = NIL, bias: Value = NIL, eps: Value = 1e-5
) -> Tensor:
    """Layer norm over places and channels of a group, per example; channels last. F.

    (group-norm x 8)"""
    given = [p for p in (weight, bias) if p is not NIL]
    t, (node, *weights) = operands("group-norm", (x, *given))
    if weight is NIL and bias is not NIL:
        weights.insert(0, t.builder.constant(1.0, node.dtype, weights[0].shape))
    count = integer("group-norm", "groups", groups)
    size = real("group-norm", "eps", eps)
    return t.tensor(t.builder("group-norm", node, *weights, groups=count, eps=size))


@tensor_builtin(
    "attention",
    "(q k v &key causal window mask bias segments (scale nil) soft-cap (dropout 0) "
    "q-positions k-positions)",
)
def attention(
    q: Value,
    k: Value,
    v: Value,
    *,
    causal: Value = NIL,
    window: Value = NIL,
    mask: Value = NIL,
    bias: Value = NIL,
    segments: Value = NIL,
    scale: Value = NIL,
    soft_cap: Value = NIL,
    dropout: Value = 0,
    q_positions: Value = NIL,
    k_positions: Value = NIL,
) -> Tensor:
    """softmax(scale q k') v for each head; q, k, v are (b n h d), heads of k and v divide h. F.

    mask true takes part; segments (b n): equal ones only. (attention q k v :causal t)"""
    t, (a, c, e) = operands("attention", (q, k, v))
    if len(a.shape) != 4:
        raise problem(
            "E-SHAPE-ARGUMENT",
            f"attention of {a.type}: q, k and v are (batch place head depth)",
            hint="split the last axis into heads: (reshape q (list b n heads depth))",
            shape=list(a.shape),
        )
    extras: dict[str, Node] = {}
    seen = _seen(t, a, c, mask, segments, q_positions, k_positions, flag(causal), window)
    if seen is not None:
        extras["mask"] = seen
    if bias is not NIL:
        extras["bias"] = node_of("attention", bias, t)
    attributes: dict[str, Any] = {}
    positions = q_positions is not NIL or k_positions is not NIL
    if flag(causal) and not positions:
        attributes["causal"] = True
    if window is not NIL and not positions:
        attributes["window"] = integer("attention", "window", window)
    if scale is not NIL:
        attributes["scale"] = real("attention", "scale", scale)
    if soft_cap is not NIL:
        attributes["soft-cap"] = real("attention", "soft-cap", soft_cap)
    rate = real("attention", "dropout", dropout)
    if rate > 0 and t.mode == ":train":
        extras["keep"], attributes["rate"] = _keep(t, a, c, rate), rate
    if extras:
        attributes["extras"] = tuple(extras)
    return t.tensor(t.builder("attention", a, c, e, *extras.values(), **attributes))


def _keep(t: Tracer, q: Node, k: Node, rate: float) -> Node:
    from .random import _single, draw

    shape = (q.shape[0], q.shape[2], q.shape[1], k.shape[1])
    drawn = draw(t, "random-uniform", t.site("attention", None), shape, 0, dtype="f32")
    return t.builder("greater-equal", drawn, t.builder.constant(_single(rate), "f32"))


def _seen(
    t: Tracer,
    q: Node,
    k: Node,
    mask: Value,
    segments: Value,
    q_positions: Value,
    k_positions: Value,
    causal: bool,
    window: Value,
) -> Node | None:
    """Everything that is no attribute, as one bool mask (b h n m), or None."""
    parts = []
    if mask is not NIL:
        given = node_of("attention", mask, t)
        if len(given.shape) == 3:  # (b n m): every head alike
            given = reshaped(t, given, (given.shape[0], 1, *given.shape[1:]))
        parts.append(given)
    if segments is not NIL:
        parts.append(_equal_segments(t, node_of("attention", segments, t)))
    if q_positions is not NIL or k_positions is not NIL:
        at = _positions(t, q, q_positions, (2, 3)), _positions(t, k, k_positions, (3, 2))
        if causal:
            parts.append(t.builder("less-equal", at[1], at[0]))
        if window is not NIL:
            near = t.builder.constant(integer("attention", "window", window), at[0].dtype)
            parts.append(t.builder("less", t.builder("subtract", at[0], at[1]), near))
    found = parts[0] if parts else None
    for part in parts[1:]:
        assert found is not None
        found = t.builder("logical-and", found, part)
    return found


def _equal_segments(t: Tracer, node: Node) -> Node:
    b, n = node.shape[0], node.shape[1]
    rows, columns = reshaped(t, node, (b, 1, n, 1)), reshaped(t, node, (b, 1, 1, n))
    return t.builder("equal", rows, columns)


def _positions(t: Tracer, x: Node, given: Value, places: tuple[int, int]) -> Node:
    n = x.shape[1]
    node = (
        node_of("attention", given, t)
        if given is not NIL
        else t.builder("iota", dtype="i32", shape=(n,), axis=0)
    )
    lead = node.shape[0] if len(node.shape) == 2 else 1
    return reshaped(t, node, (lead, 1, n, 1) if places == (2, 3) else (lead, 1, 1, n))


@tensor_builtin("rope", "(x &key (base 10000) positions (dims nil) (scale 1) interleaved)")
def rope(
    x: Value,
    *,
    base: Value = 10000,
    positions: Value = NIL,
    dims: Value = NIL,
    scale: Value = 1,
    interleaved: Value = NIL,
) -> Tensor:
    """Pairs of depths turned by position; x (b n h d), half-split. F (Su et al. 2021). (rope q)"""
    t = tracer("rope")
    node = node_of("rope", x, t)
    at = optional_node("rope", positions, t)
    attributes: dict[str, Any] = {"base": real("rope", "base", base)}
    if dims is not NIL:
        attributes["dims"] = integer("rope", "dims", dims)
    if scale != 1:
        attributes["scale"] = real("rope", "scale", scale)
    if flag(interleaved):
        attributes["interleaved"] = True
    return t.tensor(t.builder("rope", node, *(() if at is None else (at,)), **attributes))


@tensor_builtin(
    "cross-entropy",
    "(logits labels &key (axis -1) (smoothing 0) ignore-index (z-loss 0) class-weights "
    "(out :error))",
)
def cross_entropy(
    logits: Value,
    labels: Value,
    *,
    axis: Value = -1,
    smoothing: Value = 0,
    ignore_index: Value = NIL,
    z_loss: Value = 0,
    class_weights: Value = NIL,
    out: Value = ERROR,
) -> Tensor:
    """-log softmax(logits) at the label: one value a label, ignored ones 0 (R18). F; f32.

    Labels are integers, or soft targets of the logits' shape. (cross-entropy logits label)"""
    t = tracer("cross-entropy")
    node, label = node_of("cross-entropy", logits, t), node_of("cross-entropy", labels, t)
    attributes: dict[str, Any] = {
        "axis": axis_of("cross-entropy", axis, len(node.shape)),
        "out": choice("cross-entropy", "out", out, ("error", "drop")),
    }
    if smoothing != 0:
        attributes["smoothing"] = real("cross-entropy", "smoothing", smoothing)
    if ignore_index is not NIL:
        attributes["ignore-index"] = integer("cross-entropy", "ignore-index", ignore_index)
    if z_loss != 0:
        attributes["z-loss"] = real("cross-entropy", "z-loss", z_loss)
    found = t.builder("cross-entropy", node, label, **attributes)
    if class_weights is NIL:
        return t.tensor(found)
    weights = node_of("cross-entropy", class_weights, t)
    if label.dtype in FLOATS:
        raise problem("E-DTYPE-ARGUMENT", "class-weights of cross-entropy want integer labels")
    factor = t.builder("gather", weights, label, axis=0, out="drop")
    return t.tensor(t.builder("multiply", found, factor))


@tensor_builtin("binary-cross-entropy", "(logits targets &key (smoothing 0) (positive-weight 1))")
def binary_cross_entropy(
    logits: Value, targets: Value, *, smoothing: Value = 0, positive_weight: Value = 1
) -> Tensor:
    """The loss of a yes or no from its logit, one value an element. F, targets F or bool; f32.

    (binary-cross-entropy logits targets)"""
    t = tracer("binary-cross-entropy")
    name = "binary-cross-entropy"
    attributes: dict[str, Any] = {}
    if smoothing != 0:
        attributes["smoothing"] = real(name, "smoothing", smoothing)
    if positive_weight != 1:
        attributes["positive-weight"] = real(name, "positive-weight", positive_weight)
    nodes = node_of(name, logits, t), node_of(name, targets, t)
    check_outer(t, name, binary_cross_entropy, (logits, targets), nodes)
    return t.tensor(t.builder(name, *nodes, **attributes))


@tensor_builtin("glu", "(x gate &key (activation #'sigmoid))")
def glu(x: Value, gate: Value, *, activation: Value = None) -> Value:
    """x activation(gate). F, operands broadcast. (glu x gate :activation #'silu)"""
    from ...evaluator.values import first_value
    from .arithmetic import pair
    from .gradients import called

    if activation is None:
        t = tracer("glu")
        return pair("*", x, t.tensor(t.builder("sigmoid", node_of("glu", gate, t))))
    return pair("*", x, first_value(called("glu", activation, (gate,))))
