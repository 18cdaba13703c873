"""Every operation of the core, one family a file, a row an operation: `OPERATIONS` by name.

`attributes.py` lists the attributes of each and `examples.py` a use of each; its `doc` says the
rest. Importing this imports no NumPy: references lie in `reference/`, loaded when first asked for.
"""

from __future__ import annotations

from . import (
    activation,
    alignment,
    attention,
    bits,
    compare,
    contraction,
    control,
    convolution,
    einsum,
    elementwise_arithmetic,
    elementwise_exponential,
    epilogues,
    fused_attention,
    index,
    leaf,
    linear,
    loops,
    loss,
    normalization,
    order,
    pooling,
    quantile,
    random,
    reduce,
    shape,
    softmax,
    special,
    spectral,
    update,
)
from .op import Op, table

OPERATIONS: dict[str, Op] = table(
    leaf.ROWS,
    elementwise_arithmetic.ROWS,
    elementwise_exponential.ROWS,
    special.ROWS,
    compare.ROWS,
    bits.ROWS,
    shape.ROWS,
    reduce.ROWS,
    quantile.ROWS,
    contraction.ROWS,
    einsum.ROWS,
    index.ROWS,
    order.ROWS,
    random.ROWS,
    activation.ROWS,
    softmax.ROWS,
    normalization.ROWS,
    loss.ROWS,
    alignment.ROWS,
    linear.ROWS,
    spectral.ROWS,
    attention.ROWS,
    fused_attention.ROWS,
    epilogues.ROWS,
    convolution.ROWS,
    pooling.ROWS,
    update.ROWS,
    control.ROWS,
    loops.ROWS,
)

__all__ = ["OPERATIONS", "Op"]
