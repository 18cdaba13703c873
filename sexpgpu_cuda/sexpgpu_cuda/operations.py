"""Names of the operations that the device takes as calls of their own: `check` asks for these, so
they are known without importing what does them. A test holds the table to `calls.LIBRARY`."""

from __future__ import annotations

LIBRARY_OPERATIONS = frozenset(
    (
        *("matmul", "matmul-bias", "matmul-gelu", "matmul-gelu-slope"),
        *("argmax", "argmin", "attention-forward", "attention-backward"),
        *("conv", "conv-input-gradient", "conv-weight-gradient"),
        *("max-pool", "max-pool-gradient", "avg-pool", "avg-pool-gradient"),
        *("gather", "scatter-add", "scatter-set", "scatter-max", "scatter-min"),
        *("take-along", "put-along", "add-along"),
        *("cumsum", "cumprod", "cummax", "cummin"),
        *("argsort", "top-k", "searchsorted"),
        *("cholesky", "solve-triangular", "lu", "qr", "eigh", "svd"),
        *("scan", "while", "ctc-alignment"),
        *("table", "concat", "pad", "slice-set", "flip", "copy"),
    )
)
