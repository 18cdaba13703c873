"""The forms of run files, as macros over `%declare` and functions. Importing defines them."""

from . import (
    contexts,
    diagnostics,
    knobs,
    loaders,
    loads,
    metrics,
    models,
    optimizers,
    outputs,
    runs,
    states,
)

__all__ = [
    "contexts",
    "diagnostics",
    "knobs",
    "loaders",
    "loads",
    "metrics",
    "models",
    "optimizers",
    "outputs",
    "runs",
    "states",
]
