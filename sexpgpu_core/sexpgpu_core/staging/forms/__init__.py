"""The forms of run files, as macros over `%declare` and functions. Importing defines them."""

from . import (
    contexts,
    diagnostics,
    file_tensors,
    knobs,
    loaders,
    loads,
    metrics,
    models,
    optimizers,
    outputs,
    replacing,
    runs,
    states,
)

__all__ = [
    "contexts",
    "diagnostics",
    "file_tensors",
    "knobs",
    "loaders",
    "loads",
    "metrics",
    "models",
    "optimizers",
    "outputs",
    "replacing",
    "runs",
    "states",
]
