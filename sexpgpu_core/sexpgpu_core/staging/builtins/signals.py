"""Sequences in time: the Fourier transform, and the loss of labels without alignment."""

from __future__ import annotations

from ...evaluator.values import NIL, Value
from ..arguments import axis as axis_of
from ..arguments import flag
from ..host import tracer
from ..promote import integer, node_of
from ..table import tensor_builtin
from ..tensor import Tensor
from .indexing import index_node
from .reductions import want_floats
from .shape import reshaped
from .slicing import cut


@tensor_builtin("fft", "(x &key (axis -1) inverse)")
def fft(x: Value, *, axis: Value = -1, inverse: Value = NIL) -> Tensor:
    """The Fourier transform, with 1/n the inverse one; the result's last axis is real and
    imaginary part. F.

    x is complex where its last axis, which axis does not count, has 2 elements, else real.
    (fft x)"""
    t = tracer("fft")
    node = node_of("fft", x, t)
    want_floats("fft", node, x)
    rank = len(node.shape)
    parts = [node]
    if rank > 1 and node.shape[-1] == 2:
        shape = node.shape[:-1]
        parts = [reshaped(t, cut(t, node, rank - 1, i, i + 1), shape) for i in (0, 1)]
    at = axis_of("fft", axis, len(parts[0].shape))
    return t.tensor(t.builder("fft", *parts, axis=at, inverse=flag(inverse)))


@tensor_builtin("ctc-loss", "(logits labels logit-lengths label-lengths &key (blank 0))")
def ctc_loss(
    logits: Value,
    labels: Value,
    logit_lengths: Value,
    label_lengths: Value,
    *,
    blank: Value = 0,
) -> Tensor:
    """-log of the probability of labels (b l), over all their alignments with logits (b t c).

    F, I; (b), f32. (ctc-loss logits labels lengths counts)"""
    name = "ctc-loss"
    t = tracer(name)
    node = node_of(name, logits, t)
    want_floats(name, node, logits)
    rest = [index_node(name, v, t) for v in (labels, logit_lengths, label_lengths)]
    return t.tensor(t.builder(name, node, *rest, blank=integer(name, "blank", blank)))
