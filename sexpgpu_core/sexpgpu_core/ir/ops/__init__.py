"""Every operation of the core, one family a file, a row an operation: `OPERATIONS` by name.

`attributes.py` lists the attributes of each and `examples.py` a use of each; its `doc` says the
rest. Importing this imports no NumPy: references lie in `reference/`, loaded when first asked for.
"""

from __future__ import annotations

from . import (
    activation,
    attention,
    bits,
    compare,
    contraction,
    convolution,
    einsum,
    elementwise_arithmetic,
    elementwise_exponential,
    index,
    leaf,
    loss,
    normalization,
    pooling,
    random,
    reduce,
    shape,
    softmax,
    update,
)
from .op import Op, table

OPERATIONS: dict[str, Op] = table(
    leaf.ROWS,
    elementwise_arithmetic.ROWS,
    elementwise_exponential.ROWS,
    compare.ROWS,
    bits.ROWS,
    shape.ROWS,
    reduce.ROWS,
    contraction.ROWS,
    einsum.ROWS,
    index.ROWS,
    random.ROWS,
    activation.ROWS,
    softmax.ROWS,
    normalization.ROWS,
    loss.ROWS,
    attention.ROWS,
    convolution.ROWS,
    pooling.ROWS,
    update.ROWS,
)

__all__ = ["OPERATIONS", "Op"]
